"""Explains what a submission's own type annotations refuse: a checker's words are for no one."""

from __future__ import annotations

import re

from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import ExceptionKind, Explanation, kind

_TYPE = re.compile(r"<class '(?:\w+\.)*(.*?)'>", re.DOTALL)


def _beartype(match: re.Match[str], raised: Raised) -> Explanation:
    function, what, hint = match.groups()
    name = function.rpartition(".")[2]
    parameter = re.match(r"parameter (\w+)", what)
    subject = f"the parameter {parameter[1]} of {name}" if parameter else f"the result of {name}"
    because = raised.message.rpartition(", as ")[2].strip().rstrip(".")
    simple = because if "\n" not in because and len(because) < 150 and "<" not in because else ""
    return _explained(subject, _type(hint), simple)


def _jaxtyping(match: re.Match[str], raised: Raised) -> Explanation:
    name = match[2].rpartition(".")[2]
    parameter = re.search(r"typechecking parameter '(\w+)'", raised.message)
    result = match[1].startswith("return")
    subject = f"the parameter {parameter[1]} of {name}" if parameter else f"a parameter of {name}"
    hint = re.search(r"Expected type: (.*?)\.\n", raised.message)
    actual = re.search(r"Actual value: (\S+?)(?:\(torch\))?\n", raised.message)
    return _explained(
        f"the result of {name}" if result else subject,
        _type(hint[1]) if hint else "another type",
        f"it was {actual[1]}" if actual else "",
    )


def _type(hint: str) -> str:
    match = _TYPE.search(hint)
    return (match[1] if match else hint)[:100]


def _explained(subject: str, hint: str, because: str) -> Explanation:
    said = f"the annotation says that {subject} is {hint}" + (f", but {because}" if because else "")
    return Explanation("Either the annotation or what is handed over there is wrong.", said)


ANNOTATIONS: tuple[ExceptionKind, ...] = (
    kind(
        r"^BeartypeCallHint\w+Violation: (?:Function|Method|Coroutine) (\S+?)\(\) "
        r"(parameter \w+|return).*? violates type hint (.*?), as ",
        _beartype,
    ),
    kind(
        r"^TypeCheckError: Type-check error whilst checking the (parameters|return value) of "
        r"(\S+?)\.\n",
        _jaxtyping,
    ),
)
