"""Makes the fixture tensors of the public tests, from the references."""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import torch

from grader.assignment import Assignment, BadAssignment
from grader.home.bench import SEED, DirectCalls
from grader.home.fixtures import (
    FIXTURES,
    SAMPLE,
    Answers,
    FrozenModule,
    FrozenTest,
    fixture_file,
    freeze,
    sample,
)
from grader.judge.session import Judge
from grader.testing.course import make_importable
from grader.testing.diagnosis import TELLING_ASPECTS
from grader.verdict import Aspect, Status, Verdict, Visibility
from grader.wire.calls import Answer, Call


class ReferencesAsSubmission:
    """Answers as a student would who handed in the references."""

    def __init__(self, root: Path) -> None:
        make_importable(root)
        self._calls = DirectCalls(importlib.import_module("solutions"), root)

    def ask(self, call: Call) -> Answer:
        """The reference's answer to a call, on the inputs as they are."""
        return self._calls(call)

    def close(self) -> None:
        """Nothing is running."""


def freeze_public_tests(assignment: Assignment, into: Path) -> list[Path]:
    """Writes the fixture tensors of every public test below `into` (a `tests/public` folder).

    Raises:
        BadAssignment: if a reference does not pass a public test.
    """
    verdicts: list[Verdict] = []

    def examine(judge: Judge) -> None:
        verdicts.extend(judge.grade(ReferencesAsSubmission(assignment.root)))

    judge = Judge(assignment, SEED, (), examine)
    judge.run()
    public = [verdict for verdict in verdicts if verdict.visibility is Visibility.PUBLIC]
    for verdict in public:
        if verdict.status is not Status.PASSED:
            raise BadAssignment(f"the reference fails {verdict.id}: {verdict.message}")
    return _write(assignment, judge, public, into)


def _write(
    assignment: Assignment, judge: Judge, verdicts: Sequence[Verdict], into: Path
) -> list[Path]:
    tests: dict[str, dict[str, FrozenTest]] = defaultdict(dict)
    exercises: dict[str, dict[str, None]] = defaultdict(dict)
    answers = _answers(judge)
    for verdict in verdicts:
        module, _, name = verdict.id.partition("::")
        case = judge.case(verdict.id)
        tests[module][name] = FrozenTest(case, verdict.max_score, answers.get(verdict.id, {}))
        exercises[module][verdict.exercise] = None
    for old in (into / FIXTURES).glob("*.safetensors"):
        old.unlink()
    written = []
    for module in tests:
        place = (assignment.root / module).relative_to(assignment.public_tests)
        rows = {exercise: _rows(judge, exercise) for exercise in exercises[module]}
        known = dict.fromkeys(name for row in rows.values() for name in row if name)
        diagnoses = {name: judge.mistakes.diagnosis(name) for name in known}
        file = fixture_file(into / place)
        freeze(file, FrozenModule(tests[module], rows, diagnoses))
        written.append(file)
    return written


def _rows(judge: Judge, exercise: str) -> list[str]:
    """The name of the mistake in each row of an exercise's answers; the first is the reference."""
    mistakes = judge.mistakes
    return [
        "",
        *(name for name in mistakes.of_exercise(exercise) for _ in mistakes.of(name, exercise)),
    ]


def _answers(judge: Judge) -> dict[str, Answers]:
    """Samples of what the reference and the known mistakes answer to the calls of each test.

    Mistakes that are made together are kept for the plain cases only, which are enough to tell.
    """
    answers: dict[str, Answers] = defaultdict(dict)
    for exercise, observations in judge.observations.items():
        for seen in observations:
            if seen.aspect not in TELLING_ASPECTS:
                continue
            names = ["", *judge.mistakes.of_exercise(exercise)]
            if seen.aspect is not Aspect.VALUES:
                names = [name for name in names if "+" not in name]
            rows = [_row(output) for name in names for output in judge.mistakes.answers(name, seen)]
            answers[seen.test][seen.number] = torch.stack(rows)
    return answers


def _row(output: torch.Tensor | None) -> torch.Tensor:
    known = output is not None
    numbers = torch.zeros(SAMPLE, dtype=torch.float64) if output is None else sample(output)
    return torch.cat([numbers, torch.tensor([float(known)])])
