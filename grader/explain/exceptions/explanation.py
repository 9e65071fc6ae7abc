"""Explains an exception: its message, its line, its operands and the test's call."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping

from grader.core.text import one_line, plain
from grader.core.verdict import Status, Where
from grader.core.wire.calls import Call, Raised
from grader.core.wire.scripts import Doing
from grader.core.wire.values import Value
from grader.core.wire.values_in_words import in_words
from grader.explain.exceptions.kinds import Explanation, source_of
from grader.explain.exceptions.plain_python import NAMES
from grader.explain.exceptions.sizes import SIZES
from grader.explain.exceptions.tensors import TENSORS
from grader.testing.handles.scripts import REMARK, in_two_processes
from grader.testing.outcome import StudentFault

# In order. Messages of libraries may quote any text, so their kinds come first.
KINDS = (*TENSORS, *SIZES, *NAMES)


def explanation_of(raised: Raised) -> Explanation | None:
    """Returns the explanation of the first kind that matches the exception, or None."""
    for kind in KINDS:
        explanation = kind.explanation(raised)
        if explanation is not None:
            return explanation
    return None


# Python 2 code. `except A, B:` with two names of classes is Python 3.14 instead.
_PYTHON_2 = re.compile(
    r"^except\s+(?:\([\w., ]+\)|[\w.]+)\s*,\s*[a-z_]\w*\s*:|^raise\s+\w+\s*,\s*[\"'\w]"
)
# A definition or an alias with type parameters, which are short: a longer name may be a slip.
_TYPE_PARAMETERS = re.compile(
    r"^(?:(?:async\s+)?def|class)\s+\w+\s*\[\s*\*{0,2}[A-Z]\w?\s*[\],:]|^type\s+\w+\s*(?:\[.*\])?\s*="
)
# A field of an f-string that holds a text in the quotes of the f-string itself.
_SAME_QUOTES = re.compile(r"""[fF](["'])[^"'{]*\{[^{}"']*\1[^"']*\1[^{}]*\}""")
_BACKSLASH = "f-string expression part cannot include a backslash"
# Newer names of the standard library, and the version that added each.
_NEWER: dict[tuple[str, str], tuple[int, int]] = {
    ("typing", "override"): (3, 12),
    ("typing", "TypeAliasType"): (3, 12),
    ("typing", "ReadOnly"): (3, 13),
    ("typing", "TypeIs"): (3, 13),
    ("itertools", "batched"): (3, 12),
    ("collections.abc", "Buffer"): (3, 12),
    ("warnings", "deprecated"): (3, 13),
}
_IMPORT = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")


def needed_python(raised: Raised) -> str:
    """Returns the Python version that the code needs, or "" if this one may suffice."""
    source, message = source_of(raised).strip(), raised.message
    needed: tuple[int, int] | None = None
    if raised.kind != "SyntaxError":
        match = _IMPORT.search(message)
        needed = _NEWER.get((match[2], match[1])) if match else None
    elif _PYTHON_2.search(source):
        return "Python 2"
    elif (
        _TYPE_PARAMETERS.search(source)
        or (message.startswith("f-string") and _SAME_QUOTES.search(source))
        or message.startswith(_BACKSLASH)
    ):
        needed = 3, 12
    if needed is None or needed <= sys.version_info[:2]:
        return ""
    return f"Python {needed[0]}.{needed[1]} or newer"


_MESSAGE, _BEGINNING = 300, 200
# A part of a word at a cut; a longer one is kept.
_WORD_BEGUN, _WORD_ENDED = re.compile(r"(?<=\s)\S{1,20}$"), re.compile(r"^\S{1,20}(?=\s)")
_ARGUMENTS = 500
_LINES, _LINE = 10, 120


def fault_of(raised: Raised, adapter: str, call: Call | None = None) -> StudentFault:
    """Returns the fault for an exception during `call`, or during import if `call` is None.

    The first line of the fault makes sense alone. It names the exception, a short text and the
    innermost line of the submission.
    """
    last = raised.frames[-1] if raised.frames else None
    where = Where(plain(last.file), last.line) if last else _where_defined(raised)
    if raised.missing:
        place = plain(f" ({last.file}:{last.line}: {last.source})") if last else ""
        return StudentFault(Status.MISSING, f"{adapter} is not implemented yet{place}", where)
    explanation = explanation_of(raised)
    told = "\n".join(_lines_of(raised, explanation, call))
    settled = explanation is not None and explanation.settles
    return StudentFault(Status.ERROR, told, where, settled)


def _where_defined(raised: Raised) -> Where | None:
    """Returns the definition of the called function, if the call's arguments do not fit it."""
    defined = re.search(r" in (.+):(\d{1,6})$", raised.accepts)
    return Where(plain(defined[1]), int(defined[2])) if defined else None


def _lines_of(raised: Raised, explanation: Explanation | None, call: Call | None) -> Iterator[str]:
    text = explanation.message if explanation and explanation.message is not None else None
    last = raised.frames[-1] if raised.frames else None
    place = f"{plain(last.file)}:{last.line}" if last else ""
    yield _headline(raised, text) + (f" ({place})" if place else "")
    yield from _source(raised)
    if explanation is not None and explanation.sentence:
        yield plain(explanation.sentence)
    if raised.not_run:
        yield plain(raised.not_run)
    if call is not None:
        yield f"The test called {call_in_words(call)}."
        if in_two_processes(call) is not None:
            yield REMARK
    yield from printed_in_words(raised.printed)


def _headline(raised: Raised, text: str | None) -> str:
    message = " ".join(plain(raised.message if text is None else text).split())
    if len(message) > _MESSAGE:
        first, last = message[:_BEGINNING], message[_BEGINNING - _MESSAGE + 3 :]
        message = f"{_WORD_BEGUN.sub('', first).rstrip()} … {_WORD_ENDED.sub('', last).lstrip()}"
    said = f"{plain(raised.kind)}: {message}" if message else plain(raised.kind)
    needed = needed_python(raised)
    if not needed:
        return said
    this = ".".join(map(str, sys.version_info[:2]))
    return f"this is code for {needed}, and this is {this}: {said}"


def _source(raised: Raised) -> Iterator[str]:
    """Yields the source line and its operands."""
    source = plain(source_of(raised))
    if not source:
        return
    yield f"    {source}"
    operands = [plain(f"{one.name} = {one.words}") for one in raised.operands if one.words]
    if operands:
        yield f"    with {', '.join(operands)}"


def call_in_words(call: Call) -> str:
    """Returns the call that a test made: `run_rope(d_k=8, in_query_or_key=float32[2, 4, 8], …)`."""
    step = call.last
    own = f"{call.adapter}({_arguments_in_words((), call.arguments)})"
    if step is None:
        return own
    said = own if call.adapter else "what it had made"
    if step.doing is Doing.ASK:
        return f"{said}, and then {step.name}({_arguments_in_words((), step.keywords)})"
    if step.doing is Doing.MAKE:
        return f"{said}, and then looked at the files"
    if step.doing is Doing.NEXT:
        return f"{said}, and asked for item {step.times} of what it gave"
    what = f"its {step.name}" if step.name else "what it gave"
    if step.doing is Doing.CALL:
        given = _arguments_in_words(step.positional, step.keywords)
        what += f"({given})" if step.name else f" with ({given})"
    return f"{said}, and then {what}"


def _arguments_in_words(positional: Iterable[Value], keywords: Mapping[str, Value]) -> str:
    words = [*map(in_words, positional), *(f"{k}={in_words(v)}" for k, v in keywords.items())]
    return one_line(", ".join(words), _ARGUMENTS)


def printed_in_words(printed: str) -> Iterator[str]:
    """Yields the last lines that a submission printed, each marked with a bar."""
    lines = [line.rstrip() for line in plain(printed).splitlines() if line.strip()]
    if lines:
        yield "Printed just before:"
    for line in lines[-_LINES:]:
        yield f"    | {line if len(line) <= _LINE else f'{line[: _LINE - 1]}…'}"
