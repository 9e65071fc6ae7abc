"""Makes the fixture tensors of the public tests, from the references."""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path

import torch

from grader.assignment import Assignment, BadAssignment
from grader.explaining.lines.layouts import Steps
from grader.explaining.lines.mistaken import differing_steps
from grader.explaining.naming.diagnosis import WATCHED_ASPECTS
from grader.home.bench import SEED, DirectCalls
from grader.home.fixtures import (
    FIXTURES,
    Answers,
    FrozenModule,
    FrozenSteps,
    FrozenTest,
    fixture_file,
    freeze,
)
from grader.home.predictions import row_of
from grader.judge.session import Judge
from grader.testing.course import make_importable
from grader.verdict import Aspect, Status, Verdict, Visibility
from grader.wire.calls import Answer, Call

_CASES_WITH_STEPS = 2


class ReferencesAsSubmission:
    """Answers as a student would who handed in the references."""

    def __init__(self, root: Path) -> None:
        make_importable(root)
        self._calls = DirectCalls(importlib.import_module("solutions"), root)

    def ask(self, call: Call) -> Answer:
        """The reference's answer to a call, on the inputs as they are."""
        return self._calls(call)


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
    mistakes = judge.mistakes
    answers, steps = _answers(judge), _steps(judge, {verdict.id for verdict in verdicts})
    for verdict in verdicts:
        module, _, name = verdict.id.partition("::")
        case = judge.case(verdict.id)
        tests[module][name] = FrozenTest(
            case, verdict.max_score, answers.get(verdict.id, {}), steps.get(verdict.id, {})
        )
        exercises[module][verdict.exercise] = None
    for old in (into / FIXTURES).glob("*.safetensors"):
        old.unlink()
    written = []
    for module in tests:
        place = (assignment.root / module).relative_to(assignment.public_tests)
        rows = {exercise: _rows(judge, exercise) for exercise in exercises[module]}
        known = dict.fromkeys(name for row in rows.values() for name in row if name)
        diagnoses = {name: mistakes.diagnosis(name) for name in (*known, *mistakes.ignored_by)}
        file = fixture_file(into / place)
        told = {name: mistakes.shows_at(name) for name in known}
        shows_at = {name: step for name, step in told.items() if step is not None}
        authors = (mistakes.dropped_from, mistakes.ignored_by, mistakes.echoed_in)
        freeze(file, FrozenModule(tests[module], rows, diagnoses, shows_at, *authors))
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
            if seen.aspect not in WATCHED_ASPECTS:
                continue
            names = ["", *judge.mistakes.of_exercise(exercise)]
            if seen.aspect is not Aspect.VALUES:
                names = [name for name in names if "+" not in name]
            rows = [row_of(one) for name in names for one in judge.mistakes.predictions(name, seen)]
            answers[seen.test][seen.number] = torch.stack(rows)
    return answers


def _steps(judge: Judge, public: Collection[str]) -> dict[str, FrozenSteps]:
    """The steps of the reference and of each single mistake, in the smallest plain cases."""
    mistakes = judge.mistakes
    frozen: dict[str, FrozenSteps] = defaultdict(dict)
    for exercise, observations in judge.observations.items():
        plain = [one for one in observations if one.aspect is Aspect.VALUES and one.test in public]
        for seen in sorted(plain, key=lambda one: one.value.numel())[:_CASES_WITH_STEPS]:
            right = mistakes.steps("", 0, seen)
            if right is None:
                continue
            variants = {("", 0): _listed(right)}
            for name in mistakes.of_exercise(exercise):
                for variant in range(len(mistakes.of(name, exercise)) if "+" not in name else 0):
                    wrong = mistakes.steps(name, variant, seen)
                    if wrong is not None:
                        variants[name, variant] = _listed(differing_steps(right, wrong))
            frozen[seen.test][seen.number] = variants
    return frozen


def _listed(steps: Steps) -> dict[str, list[torch.Tensor]]:
    """Steps as they are frozen: to be recognised, a few digits are enough."""
    return {name: [form.to(torch.float32) for form in forms] for name, forms in steps.items()}
