"""Trials: edits of a submission's source to be tried in its worker, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from grader.wire.calls import Call
from grader.wire.frames import Received, decode, encode
from grader.wire.payload import BadFrame
from grader.wire.scripts import steps_as_json, steps_from_json
from grader.wire.values import Value

# In one frame.
MAX_EDITS = 500
MAX_CALLS = 64
# In all files together.
MAX_PASSED = 5000
_LINES = 1 << 31
# The key of a frame that holds trials; no call has it.
TRIALS = "trials"


@dataclass(frozen=True, slots=True)
class Change:
    """A text that takes the place of what stands from `start` to `end` in a file (characters)."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Passed:
    """Lines of one of the submission's files that calls began."""

    file: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Trials:
    """Edits to be tried on some calls, all known before the first is.

    The answers to the first `to_change` calls are wrong: an edit that leaves one of them as it is,
    or without an answer, need not go on. `edits` are, each by file, the changes that it makes.
    `follow` asks which lines the first so many calls pass without any edit.
    """

    calls: Sequence[Call]
    to_change: int
    edits: Sequence[Mapping[str, Sequence[Change]]]
    seconds: float
    follow: int = 0


@dataclass(slots=True)
class Outcomes:
    """What edited programs answered: by edit and call, the number of one of the `answers`.

    `tried` edits were begun, with so many `calls` made; `passed` are lines that were followed.
    """

    given: dict[tuple[int, int], int] = field(default_factory=dict)
    answers: list[torch.Tensor] = field(default_factory=list)
    tried: int = 0
    calls: int = 0
    passed: tuple[Passed, ...] = ()
    _known: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def add(self, edit: int, call: int, answer: torch.Tensor) -> None:
        """One more answer; equal ones are kept once."""
        laid_out = answer.clone(memory_format=torch.contiguous_format)
        raw = laid_out.reshape(-1).view(torch.uint8).numpy().tobytes()
        key = (answer.dtype, tuple(answer.shape), raw)
        number = self._known.setdefault(key, len(self.answers))
        if number == len(self.answers):
            self.answers.append(answer)
        self.given[edit, call] = number

    def of(self, edit: int, call: int) -> torch.Tensor | None:
        """What an edit answered to a call."""
        number = self.given.get((edit, call))
        return None if number is None else self.answers[number]


def encode_trials(trials: Trials) -> bytes:
    """The frame that asks a worker to try edits."""
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
    header: dict[str, Any] = {"calls": calls, "to_change": trials.to_change, "edits": edits}
    header |= {"seconds": trials.seconds, "follow": trials.follow}
    return encode({TRIALS: header}, values)


def trials_in(header: Mapping[str, Any], values: Mapping[str, Value]) -> Trials:
    """The trials in a frame that the judge's side sent."""
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
        {file: [Change(*one) for one in changes] for file, changes in edit}
        for edit in asked["edits"]
    ]
    return Trials(calls, asked["to_change"], edits, asked["seconds"], asked["follow"])


def encode_outcomes(outcomes: Outcomes) -> bytes:
    """The frame in which a worker tells what came of trials."""
    given = [[edit, call, number] for (edit, call), number in outcomes.given.items()]
    header = {"given": given, "tried": outcomes.tried, "calls": outcomes.calls}
    header["passed"] = [[one.file, one.lines] for one in outcomes.passed]
    return encode(header, {str(n): answer for n, answer in enumerate(outcomes.answers)})


def decode_outcomes(frame: Received, trials: Trials) -> Outcomes:
    """What a worker says came of trials.

    Raises:
        BadFrame: if that cannot have come of them.
    """
    header, values = decode(frame)
    answers = []
    for value in values.values():
        if not isinstance(value, torch.Tensor):
            raise BadFrame("an answer of a trial is no tensor")
        answers.append(value)
    given, tried, calls = header.get("given"), header.get("tried"), header.get("calls")
    if not isinstance(given, list) or type(tried) is not int or type(calls) is not int:
        raise BadFrame("what came of trials is not told as it must be")
    if not 0 <= tried <= len(trials.edits) or not 0 <= calls <= tried * len(trials.calls):
        raise BadFrame("more was tried than was asked for")
    if len(answers) > len(trials.edits) * len(trials.calls):
        raise BadFrame("there are more answers than were asked for")
    ends = (len(trials.edits), len(trials.calls), len(answers))
    passed = _passed_from_json(header.get("passed"))
    outcomes = Outcomes(answers=answers, tried=tried, calls=calls, passed=passed)
    for row in given:
        if not isinstance(row, list) or len(row) != len(ends):
            raise BadFrame("what came of a trial is not told as it must be")
        if any(
            type(one) is not int or not 0 <= one < end for one, end in zip(row, ends, strict=True)
        ):
            raise BadFrame("what came of a trial is of none that was asked for")
        outcomes.given[row[0], row[1]] = row[2]
    return outcomes


def _passed_from_json(entry: object) -> tuple[Passed, ...]:
    if not isinstance(entry, list):
        raise BadFrame("the lines that were passed are not a list")
    passed, left = [], MAX_PASSED
    for row in entry:
        if not isinstance(row, list) or len(row) != 2 or not isinstance(row[1], list):
            raise BadFrame("the lines that were passed are not told as they must be")
        left -= max(1, len(row[1]))
        if left < 0 or any(type(one) is not int or not 0 < one < _LINES for one in row[1]):
            raise BadFrame("the lines that were passed are none that can be")
        passed.append(Passed(str(row[0])[:300], tuple(row[1])))
    return tuple(passed)
