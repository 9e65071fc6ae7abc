"""The words for what a submission did wrong, plainly or in full."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from grader.core.text import plain
from grader.core.verdict import Status
from grader.core.wire.calls import Call, Raised, Traced, Use
from grader.core.wire.records import Line
from grader.core.wire.values import Value
from grader.testing.contract.contract import Adapter
from grader.testing.outcome import StudentFault

_NAMES = 5
_LINES = 4

WISH = "which must be written by hand in this assignment"
TAKEN_OFF = "of this exercise's points are taken off"


def in_words(uses: Iterable[Use]) -> str:
    """Returns the names with their files and lines: "torch.nn.Linear (model.py:3, model.py:7)"."""
    places: dict[str, dict[str, list[int]]] = {}
    for use in sorted(set(uses), key=lambda use: (use.file, use.line)):
        places.setdefault(use.name, {}).setdefault(use.file, []).append(use.line)
    told = [f"{name} ({_places(files)})" for name, files in sorted(places.items())[:_NAMES]]
    more = [f"{len(places) - _NAMES} more"] if len(places) > _NAMES else []
    *others, last = [*told, *more]
    return f"{', '.join(others)} and {last}" if others else last


def _places(files: dict[str, list[int]]) -> str:
    told = [_lines(file, lines) for file, lines in list(files.items())[:_LINES]]
    return ", ".join([*told, *(["…"] if len(files) > _LINES else [])])


def _lines(file: str, lines: list[int]) -> str:
    told = [f"{file}:{line}" for line in lines[:_LINES]]
    return ", ".join([*told, *(["…"] if len(lines) > _LINES else [])])


_LONGEST = 300

Trace = Callable[[Traced], Line | None]


class Wording(Protocol):
    """The words for a submission's doings, which never change the outcome of a test."""

    def raised(self, raised: Raised, adapter: str, call: Call | None = None, /) -> StudentFault:
        """Returns the fault for what was raised while `call` ran, or the import if that is None."""

    def refused(self, adapter: Adapter, value: Value, call: Call, trace: Trace, /) -> StudentFault:
        """Returns the fault for a value that is not what the contract says.

        `trace` finds its line.
        """

    def origin(self, trace: Trace, what: Traced, /) -> Line | None:
        """Returns the line that made a result what it is, if lines are told."""

    def printed(self, text: str, /) -> Sequence[str]:
        """Returns lines that tell what the submission printed before its process was lost."""


class Plainly:
    """A `Wording` for where verdicts are reached: it looks at little, and repeats nothing.

    What a submission raised, returned or printed while it was asked may hold the inputs that it is
    graded on. While it is imported it knows of none.
    """

    def raised(self, raised: Raised, adapter: str, call: Call | None = None, /) -> StudentFault:
        """Returns the sentence that it raised, with the kind if it is Python's own."""
        if raised.missing:
            said = f"{adapter} is not implemented yet"
            return StudentFault(Status.MISSING, _with_not_run(said, raised))
        if call is None:
            return StudentFault(Status.ERROR, _with_not_run(_import_in_words(raised), raised))
        known = isinstance(vars(builtins).get(raised.kind), type)
        what = raised.kind if known else "an exception"
        return StudentFault(Status.ERROR, f"{adapter} raised {what}")

    def refused(self, adapter: Adapter, _value: Value, _call: Call, _trace: Trace) -> StudentFault:
        """Says that it is refused."""
        said = f"{adapter.name} returned something of another type or shape than it must"
        return StudentFault(Status.FAILED, said)

    def origin(self, _trace: Trace, _what: Traced) -> Line | None:
        """Returns nothing: nobody is asked twice."""
        return None

    def printed(self, _text: str) -> Sequence[str]:
        """Returns nothing."""
        return ()


def _with_not_run(said: str, raised: Raised) -> str:
    return f"{said}\n{plain(raised.not_run)}" if raised.not_run else said


def _import_in_words(raised: Raised) -> str:
    """Returns the kind and the message of an exception, with its file and line."""
    message = " ".join(raised.message.split())[:_LONGEST]
    said = plain(f"{raised.kind}: {message}" if message else raised.kind)
    last = raised.frames[-1] if raised.frames else None
    return f"{said} ({plain(last.file)}:{last.line})" if last else said
