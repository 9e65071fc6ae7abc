"""Trials: edits of a submission's source to be tried in its worker, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import torch

from grader.core.wire.calls import Call
from grader.core.wire.frames import Received, decode, encode
from grader.core.wire.records import Below, File, LineNumber, as_plain, reader
from grader.core.wire.scripts import steps_as_json, steps_from_json
from grader.core.wire.values import BadFrame, Value

# In one frame.
MAX_EDITS = 500
# Things that calls leave, each put back alone.
MAX_CHANGES = 12
# In all files together.
MAX_PASSED = 5000
# The key of a frame that holds trials; no call has it.
TRIALS = "trials"
# What of them crosses as it is.
_PLAIN = ("to_change", "seconds", "follow", "told", "stays")


@dataclass(frozen=True, slots=True)
class TextChange:
    """A text that takes the place of what stands from `start` to `end` in a file (characters)."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Passed:
    """Lines of one of the submission's files that calls began."""

    file: File
    lines: tuple[LineNumber, ...]


@dataclass(frozen=True, slots=True)
class Trials:
    """Edits to be tried on some calls, all known before the first is.

    The answers to the first `to_change` calls are wrong: an edit that leaves one of them as it is,
    or without an answer, need not go on. `edits` are, each by file, the changes that it makes.
    `follow` asks which lines the first so many calls pass without any edit. An edit of nothing is
    the control.
    Where the places of some calls are `told`, all are made one after another in one state without
    any edit, and the answers to those are told. Then so again, with each thing that calls changed
    put back alone before each of those; the line that changed it is told as passed.
    Where the one edit `stays`, it is made from the state after the import, for the calls that
    follow these trials; no call is made with it now.
    """

    calls: Sequence[Call]
    to_change: int
    edits: Sequence[Mapping[str, Sequence[TextChange]]]
    seconds: float
    follow: int = 0
    told: Sequence[int] = ()
    stays: bool = False

    @property
    def ways(self) -> int:
        """Returns how many programs answer a call: edits, and unedited ones in another state."""
        return MAX_CHANGES + 1 if self.told else len(self.edits)


@dataclass(slots=True)
class Outcomes:
    """The answers of edited programs: by edit and call, the number of one of the `answers`.

    `control` is the same of the unedited program, for calls that are to change. `tried` edits were
    begun, with so many `calls` made; `passed` are lines that were followed. Of calls in one state,
    number 0 is what they answer, the others what they do with one thing put back, of which `passed`
    tells the line.
    """

    given: dict[tuple[int, int], int] = field(default_factory=dict)
    control: dict[int, int] = field(default_factory=dict)
    answers: list[torch.Tensor] = field(default_factory=list)
    tried: int = 0
    calls: int = 0
    passed: tuple[Passed, ...] = ()
    _known: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def add(self, edit: int, call: int, answer: torch.Tensor) -> None:
        """Adds an answer."""
        self.given[edit, call] = self._number(answer)

    def add_control(self, call: int, answer: torch.Tensor) -> None:
        """Adds an answer of the unedited program."""
        self.control[call] = self._number(answer)

    def _number(self, answer: torch.Tensor) -> int:
        """Returns the number of an answer; equal ones are kept once."""
        laid_out = answer.clone(memory_format=torch.contiguous_format)
        raw = laid_out.reshape(-1).view(torch.uint8).numpy().tobytes()
        key = (answer.dtype, tuple(answer.shape), raw)
        number = self._known.setdefault(key, len(self.answers))
        if number == len(self.answers):
            self.answers.append(answer)
        return number

    def of(self, edit: int, call: int) -> torch.Tensor | None:
        """Returns the answer of an edited program to a call; None if there is none."""
        number = self.given.get((edit, call))
        return None if number is None else self.answers[number]

    def unedited(self, call: int) -> torch.Tensor | None:
        """Returns the answer of the unedited program to a call; None if there is none."""
        number = self.control.get(call)
        return None if number is None else self.answers[number]


def encode_trials(trials: Trials) -> bytes:
    """Returns the frame that asks a worker to try edits."""
    calls: list[list[Any]] = []
    values: dict[str, Value] = {}
    for place, call in enumerate(trials.calls):
        calls.append([call.adapter, call.seed, list(call.arguments)])
        values |= {f"{place}.{name}": value for name, value in call.arguments.items()}
        if call.is_script:
            calls[-1].append(steps_as_json(call.before, f"{place}.before.", values))
            calls[-1].append(steps_as_json(call.then, f"{place}.then.", values))
    edits = [
        [
            [file, [[one.start, one.end, one.text] for one in changes]]
            for file, changes in by.items()
        ]
        for by in trials.edits
    ]
    header: dict[str, Any] = {"calls": calls, "edits": edits}
    header |= {name: getattr(trials, name) for name in _PLAIN}
    return encode({TRIALS: header}, values)


def trials_in(header: Mapping[str, Any], values: Mapping[str, Value]) -> Trials:
    """Returns the trials in a frame that the judge's side sent."""
    asked = header[TRIALS]
    calls = [
        Call(
            adapter,
            {name: values[f"{place}.{name}"] for name in names},
            seed,
            before=steps_from_json(steps[0], f"{place}.before.", dict(values)) if steps else (),
            then=steps_from_json(steps[1], f"{place}.then.", dict(values)) if steps else (),
        )
        for place, (adapter, seed, names, *steps) in enumerate(asked["calls"])
    ]
    edits = [
        {file: [TextChange(*one) for one in changes] for file, changes in edit}
        for edit in asked["edits"]
    ]
    return Trials(calls, edits=edits, **{name: asked[name] for name in _PLAIN})


def encode_outcomes(outcomes: Outcomes) -> bytes:
    """Returns the frame in which a worker tells what came of trials."""
    given = [[edit, call, number] for (edit, call), number in outcomes.given.items()]
    header = {"given": given, "tried": outcomes.tried, "calls": outcomes.calls}
    header["control"] = [[call, number] for call, number in outcomes.control.items()]
    header["passed"] = as_plain(outcomes.passed)
    return encode(header, {str(n): answer for n, answer in enumerate(outcomes.answers)})


def decode_outcomes(frame: Received, trials: Trials) -> Outcomes:
    """Reads the outcomes of trials from the frame that a worker sent.

    Raises:
        BadFrame: if that cannot have come of them.
    """
    header, values = decode(frame)
    answers = []
    for value in values.values():
        if not isinstance(value, torch.Tensor):
            raise BadFrame("an answer of a trial is not a tensor")
        answers.append(value)
    tried, calls = _COUNT(header.get("tried")), _COUNT(header.get("calls"))
    if tried > len(trials.edits) or calls > tried * len(trials.calls):
        raise BadFrame("more was tried than was asked for")
    if len(answers) > (trials.ways + 1) * len(trials.calls):
        raise BadFrame("there are more answers than were asked for")
    ends = (trials.ways, len(trials.calls), len(answers))
    passed = _PASSED(header.get("passed"))
    if sum(max(1, len(one.lines)) for one in passed) > MAX_PASSED:
        raise BadFrame("more lines were passed than may be told")
    outcomes = Outcomes(answers=answers, tried=tried, calls=calls, passed=passed)
    for edit, call, number in _checked(_GIVEN(header.get("given")), ends):
        outcomes.given[edit, call] = number
    for call, number in _checked(_CONTROL(header.get("control")), ends[1:]):
        outcomes.control[call] = number
    return outcomes


_Number = Annotated[int, Below(1 << 31)]
_COUNT, _PASSED = reader(_Number), reader(tuple[Passed, ...])
_GIVEN = reader(tuple[tuple[_Number, _Number, _Number], ...])
_CONTROL = reader(tuple[tuple[_Number, _Number], ...])


def _checked(rows: Sequence[Sequence[int]], ends: Sequence[int]) -> Sequence[Sequence[int]]:
    """Returns rows of numbers, each of them below its end."""
    if any(number >= end for row in rows for number, end in zip(row, ends, strict=True)):
        raise BadFrame("an outcome of trials belongs to no question")
    return rows
