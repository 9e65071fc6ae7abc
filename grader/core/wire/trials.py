"""Trials: edits of a submission's source to be tried in its worker, and their outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import torch

from grader.core.wire.calls import Call, call_in, laid_out
from grader.core.wire.frames import Received, decode, encode
from grader.core.wire.records import BadFrame, Below, File, LineNumber, Name, read, reader, written

# The most edits in one frame.
MAX_EDITS = 500
# The most executed lines that may be reported, in all files together.
MAX_PASSED = 5000
# The most variables whose kind may be reported, in all files together.
MAX_SEEN = 3000
# The kinds of values that a variable may hold.
KINDS = ("tensor", "mask", "int", "float", "bool", "function", "shape", "other")
# The key of a frame that holds trials; no call has it.
TRIALS = "trials"
# The fields of trials that cross unchanged.
_PLAIN = ("to_change", "seconds", "follow", "stays")


@dataclass(frozen=True, slots=True)
class TextChange:
    """A text that replaces the characters from `start` to `end` of a file."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Seen:
    """A variable, or an attribute like `self.scale`, that a function of the submission held.

    `function` is the number of the function's first line. `kind` is the index of the value's kind
    in `KINDS`.
    """

    function: LineNumber
    name: Name
    kind: Annotated[int, Below(len(KINDS))]


@dataclass(frozen=True, slots=True)
class Passed:
    """Lines of one file of the submission that calls executed, and the variables there."""

    file: File
    lines: tuple[LineNumber, ...]
    seen: tuple[Seen, ...] = ()


@dataclass(frozen=True, slots=True)
class Trials:
    """Edits to be tried on some calls; all edits are known before the first is tried.

    The answers to the first `to_change` calls are wrong. An edit is dropped as soon as one of these
    answers stays the same or is missing. Each of `edits` maps files to changes; an edit without
    changes is the control. No edit begins after `seconds`. The lines that the first `follow` calls
    run are recorded, without any edit.

    If the only edit `stays`, it is applied to the state after the import, for the calls that follow
    these trials. No call is made now.
    """

    calls: Sequence[Call]
    to_change: int
    edits: Sequence[Mapping[str, Sequence[TextChange]]]
    seconds: float
    follow: int = 0
    stays: bool = False


@dataclass(slots=True)
class Outcomes:
    """The answers of edited programs.

    `given` maps the numbers of an edit and a call to an index of `answers`. `tried` counts the
    edits that were begun. `passed` holds the recorded lines.
    """

    given: dict[tuple[int, int], int] = field(default_factory=dict)
    answers: list[torch.Tensor] = field(default_factory=list)
    tried: int = 0
    passed: tuple[Passed, ...] = ()
    _known: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def add(self, edit: int, call: int, answer: torch.Tensor) -> None:
        """Adds an answer; equal ones are kept once."""
        laid_out = answer.clone(memory_format=torch.contiguous_format)
        raw = laid_out.reshape(-1).view(torch.uint8).numpy().tobytes()
        key = (answer.dtype, tuple(answer.shape), raw)
        number = self._known.setdefault(key, len(self.answers))
        if number == len(self.answers):
            self.answers.append(answer)
        self.given[edit, call] = number

    def of(self, edit: int, call: int) -> torch.Tensor | None:
        """Returns the answer of an edited program to a call; None if there is none."""
        number = self.given.get((edit, call))
        return None if number is None else self.answers[number]


def encode_trials(trials: Trials) -> bytes:
    """Returns the frame that asks a worker to try edits."""
    edits = [
        [[file, written(tuple(changes))] for file, changes in by.items()] for by in trials.edits
    ]
    plain = {name: getattr(trials, name) for name in _PLAIN}
    calls = [laid_out(call) for call in trials.calls]
    header = plain | {"edits": edits, "calls": [own for own, _ in calls]}
    return encode({TRIALS: header}, {"calls": [values for _, values in calls]})


def trials_in(header: Mapping[str, Any], values: Mapping[str, Any]) -> Trials:
    """Returns the trials in a frame that the judge's side sent."""
    asked = header[TRIALS]
    calls = [*map(call_in, asked["calls"], values["calls"])]
    edits = [
        {file: [read(TextChange, one) for one in changes] for file, changes in edit}
        for edit in asked["edits"]
    ]
    return Trials(calls, edits=edits, **{name: asked[name] for name in _PLAIN})


def encode_outcomes(outcomes: Outcomes) -> bytes:
    """Returns the frame in which a worker sends the outcomes of trials."""
    header = {
        "given": [[*place, number] for place, number in outcomes.given.items()],
        "tried": outcomes.tried,
        "passed": written(outcomes.passed),
    }
    return encode(header, {str(n): answer for n, answer in enumerate(outcomes.answers)})


def decode_outcomes(frame: Received, trials: Trials) -> Outcomes:
    """Reads the outcomes of trials from the frame that a worker sent.

    Raises:
        BadFrame: if these trials cannot have such outcomes.
    """
    header, values = decode(frame)
    answers = []
    for value in values.values():
        if not isinstance(value, torch.Tensor):
            raise BadFrame("an answer of a trial is not a tensor")
        answers.append(value)
    tried = _COUNT(header.get("tried"))
    if tried > len(trials.edits):
        raise BadFrame("more was tried than was asked for")
    if len(answers) > len(trials.edits) * len(trials.calls):
        raise BadFrame("there are more answers than were asked for")
    ends = (len(trials.edits), len(trials.calls), len(answers))
    passed = _PASSED(header.get("passed"))
    if sum(max(1, len(one.lines)) for one in passed) > MAX_PASSED:
        raise BadFrame("more lines were passed than may be told")
    if sum(len(one.seen) for one in passed) > MAX_SEEN:
        raise BadFrame("more variables were seen than may be told")
    outcomes = Outcomes(answers=answers, tried=tried, passed=passed)
    for row in _GIVEN(header.get("given")):
        if any(number >= end for number, end in zip(row, ends, strict=True)):
            raise BadFrame("an outcome of trials belongs to no question")
        edit, call, number = row
        outcomes.given[edit, call] = number
    return outcomes


_Number = Annotated[int, Below(1 << 31)]
_COUNT, _PASSED = reader(_Number), reader(tuple[Passed, ...])
_GIVEN = reader(tuple[tuple[_Number, _Number, _Number], ...])
