"""The fixture tensors of the public tests, made from the references."""

from __future__ import annotations

import importlib
import itertools
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from grader.authoring.handout.fixture_differences import differences
from grader.core.assignment import Assignment, BadAssignment
from grader.core.verdict import TELLING_ASPECTS, WATCHED_ASPECTS, Aspect, Visibility
from grader.explain.answers import InFull
from grader.explain.mistakes.catalogue import RIGHT
from grader.explain.mistakes.mistakes import KnownMistakes, load_mistakes
from grader.explain.mistakes.prediction import row_of
from grader.explain.rewriting.slips import handed_out
from grader.home.bench import DirectCalls
from grader.testing.cases import (
    FIXTURES,
    SEED,
    SLIPS,
    Answers,
    Case,
    FrozenModule,
    FrozenSteps,
    FrozenTest,
    fixture_file,
    freeze,
    fresh_case,
    is_frozen,
    remove_frozen,
)
from grader.testing.course import AND
from grader.testing.handles.bench import Bench
from grader.testing.outcome import Observation
from grader.testing.suite import Suite, Test


@dataclass(frozen=True, slots=True)
class ReferenceRun:
    """The references' run of every test: the cases drawn, the observations, and the mistakes."""

    tests: Mapping[str, Test]
    mistakes: KnownMistakes
    cases: Mapping[str, Case]
    observations: Mapping[str, Sequence[Observation]]


def freeze_public_tests(assignment: Assignment, into: Path) -> list[Path]:
    """Writes the fixture tensors of every public test below `into` (a `tests/public` folder).

    Raises:
        BadAssignment: if a reference fails a public test.
    """
    return Suite(assignment).open(lambda suite: _write(assignment, _run_references(suite), into))


def outdated_fixtures(suite: Suite) -> list[str]:
    """Returns how the fixtures differ from those that `freeze_public_tests` would write.

    Returns [] for an assignment without fixtures.

    Raises:
        BadAssignment: if a reference fails a public test.
    """
    stored = suite.assignment.public_tests / FIXTURES
    modules = {test.partition("::")[0] for test in suite.tests}
    own = {fixture_file(suite.assignment.root / module) for module in modules}
    # A damaged file of a module counts as well.
    if not any(file in own or is_frozen(file) for file in stored.glob("*.safetensors")):
        return []
    with tempfile.TemporaryDirectory() as folder:
        _write(suite.assignment, _run_references(suite), Path(folder))
        return differences(Path(folder) / FIXTURES, stored)


def _run_references(suite: Suite) -> ReferenceRun:
    """Returns the references' run of every test, on the inputs that students have."""
    root = suite.assignment.root
    answer = DirectCalls(importlib.import_module("solutions"), root)
    cases = {test: fresh_case(SEED, test) for test in suite.tests}
    observations: dict[str, list[Observation]] = {}
    bench = Bench(
        suite.contract,
        answer,
        suite.references,
        cases.__getitem__,
        SEED,
        InFull(),
        observations=observations,
    )
    for test in suite.tests.values():
        raised = suite.run(test.id, bench).raised
        if raised is not None and test.visibility is Visibility.PUBLIC:
            raise BadAssignment(f"the reference fails {test.id}: {raised}")
    mistakes = load_mistakes(root, suite.references)
    return ReferenceRun(suite.tests, mistakes, cases, observations)


def _write(assignment: Assignment, reference_run: ReferenceRun, into: Path) -> list[Path]:
    tests: dict[str, dict[str, FrozenTest]] = defaultdict(dict)
    exercises: dict[str, dict[str, None]] = defaultdict(dict)
    mistakes = reference_run.mistakes
    public = [one for one in reference_run.tests.values() if one.visibility is Visibility.PUBLIC]
    answers, steps = _answers(reference_run), _steps(reference_run, {test.id for test in public})
    for test in public:
        module, _, name = test.id.partition("::")
        case, points = reference_run.cases[test.id], test.points
        tests[module][name] = FrozenTest(
            case, points, answers.get(test.id, {}), steps.get(test.id, {})
        )
        exercises[module][test.exercise] = None
    remove_frozen(into / FIXTURES)
    written = _write_slips(assignment, into / FIXTURES)
    for module in tests:
        place = (assignment.root / module).relative_to(assignment.public_tests)
        rows = {exercise: _rows(mistakes, exercise) for exercise in exercises[module]}
        known = dict.fromkeys(name for row in rows.values() for name in row if name)
        diagnoses = {name: mistakes.diagnosis(name) for name in (*known, *mistakes.ignored_by)}
        file = fixture_file(into / place)
        declared = (mistakes.dropped_from, mistakes.ignored_by, mistakes.echoed_in)
        fixed = _fixed_steps(reference_run, exercises[module])
        freeze(file, FrozenModule(tests[module], rows, diagnoses, *declared, fixed))
        written.append(file)
    return written


def _write_slips(assignment: Assignment, folder: Path) -> list[Path]:
    """Writes the assignment's slips, if there are any, in the form that students get."""
    slips = handed_out(assignment.root)
    if slips is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SLIPS).write_text(slips, encoding="utf-8")
    return [folder / SLIPS]


def _fixed_steps(
    reference_run: ReferenceRun, exercises: Iterable[str]
) -> dict[str, Collection[str]]:
    """Returns, by exercise, the steps that are equal whatever numbers the inputs hold."""
    fixed = {
        name: [frozenset(reference_run.mistakes.fixed_steps(one)) for one in plain]
        for name in exercises
        if (plain := _plain(reference_run, name))
    }
    found = {name: frozenset.intersection(*own) for name, own in fixed.items()}
    return {name: steps for name, steps in found.items() if steps}


def _plain(reference_run: ReferenceRun, exercise: str) -> list[Observation]:
    every = reference_run.observations.get(exercise, ())
    return [one for one in every if one.aspect is Aspect.VALUES]


def _rows(mistakes: KnownMistakes, exercise: str) -> list[str]:
    """Returns the mistake's name for each row of an exercise's answers; "" for right answers."""
    names = (RIGHT, *mistakes.names_in(exercise))
    return [name for name in names for _ in mistakes.variants(name, exercise)]


def _answers(reference_run: ReferenceRun) -> dict[str, Answers]:
    """Returns samples of the reference's and the known mistakes' answers to each test's calls.

    Pairs of mistakes are kept only for tests of values, which suffice to recognise them.
    """
    answers: dict[str, Answers] = defaultdict(dict)
    for exercise, observations in reference_run.observations.items():
        for seen in observations:
            if seen.aspect not in WATCHED_ASPECTS:
                continue
            names = [RIGHT, *reference_run.mistakes.names_in(exercise)]
            if seen.aspect is not Aspect.VALUES:
                names = [name for name in names if AND not in name]
            rows = [
                row_of(one)
                for name in names
                for one in reference_run.mistakes.predictions(name, seen)
            ]
            answers[seen.test][seen.number] = torch.stack(rows)
    return answers


def _steps(reference_run: ReferenceRun, public: Collection[str]) -> dict[str, FrozenSteps]:
    """Returns the steps that the reference names, for its answers in telling public tests."""
    frozen: dict[str, FrozenSteps] = defaultdict(dict)
    for seen in itertools.chain.from_iterable(reference_run.observations.values()):
        if seen.test in public and seen.aspect in TELLING_ASPECTS:
            steps = reference_run.mistakes.steps(seen) or {}
            if len(steps) > 1:
                frozen[seen.test][seen.number] = {name: [*forms] for name, forms in steps.items()}
    return frozen
