"""Kinds of exceptions: the pattern that recognises each, and its explanation."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from grader.core.wire.calls import Operand, Raised

# The words for dtypes in torch's messages, and the dtypes' names.
_DTYPES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "long int": "int64",
    "short int": "int16",
    "signed char": "int8",
    "unsigned char": "uint8",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """A sentence that explains an exception; `message`, if set, replaces the exception's own text.

    `settles` is true if the line that raised is certainly the line to fix.
    """

    sentence: str
    message: str | None = None
    settles: bool = False


Explain = Callable[[re.Match[str], Raised], Explanation | str | None]


@dataclass(frozen=True, slots=True)
class ExceptionKind:
    """A kind of exceptions, whose text (`kind: message`) contains the pattern.

    `explain` is a function or a format string, which is filled with the groups of the match.
    """

    pattern: re.Pattern[str]
    explain: Explain | str
    settles: bool = False

    def explanation(self, raised: Raised) -> Explanation | None:
        """Returns the explanation of an exception, or None if the exception is of another kind."""
        match = self.pattern.search(f"{raised.kind}: {raised.message}")
        if match is None:
            return None
        if isinstance(self.explain, str):
            return Explanation(self.explain.format(*match.groups()), settles=self.settles)
        said = self.explain(match, raised)
        return Explanation(said, settles=self.settles) if isinstance(said, str) else said


def kind(pattern: str, explain: Explain | str, settles: bool = False) -> ExceptionKind:
    """Returns a kind of exceptions from a pattern of their text."""
    return ExceptionKind(re.compile(pattern, re.DOTALL), explain, settles)


def dtype_name(word: str) -> str:
    """Returns the name of a dtype from a word in torch's message: `Float` or `c10::Half`."""
    plain = word.rpartition("::")[2].rpartition(".")[2].lower()
    return _DTYPES.get(plain.removesuffix("tensor"), plain)


def shape_of(operand: Operand) -> list[int] | None:
    """Returns the shape of an operand, or None if it is not a tensor."""
    match = re.fullmatch(r"\w+\[([\d, ]*)\].*", operand.words)
    return None if match is None else [int(size) for size in re.findall(r"\d+", match[1])]


def source_of(raised: Raised) -> str:
    """Returns the source line at which an exception was raised, or ""."""
    return raised.frames[-1].source if raised.frames else ""
