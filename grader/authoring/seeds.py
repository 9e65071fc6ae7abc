"""The check under many seeds that no verdict on an assignment's functions depends on the draw."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.authoring.forked_tasks import in_children
from grader.authoring.verification import answering, wrong_functions
from grader.core.assignment import Assignment
from grader.core.points import total
from grader.core.verdict import Aspect, Status, Verdict
from grader.core.wire.calls import Answer, Call, encode_answer
from grader.grading.judge.judge import Judge
from grader.testing.cases import SEED
from grader.testing.course import listed_in, load_references
from grader.testing.suite import Suite

# The time limit for one exercise under one seed.
_SECONDS = 600.0

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Subject:
    """Right or wrong functions whose score in one exercise is checked."""

    name: str
    exercise: str
    is_right: bool
    functions: Mapping[str, Callable[..., object]]


@dataclass(frozen=True, slots=True)
class SeedResult:
    """A subject's result under one seed: the points, and the tests that it failed and passed.

    If no test of values passes, the other tests are not run: they could give no points.
    """

    score: float
    failed: tuple[str, ...]
    passed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Steadiness:
    """The results of each subject, seed by seed; `problems` name the tasks that were not done."""

    subjects: tuple[tuple[Subject, tuple[SeedResult, ...]], ...]
    seeds: int
    problems: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Returns whether right passes, wrong fails, and no score depends on the seed."""
        return len([*self.in_words()]) == 1

    def in_words(self) -> Iterator[str]:
        """Yields the results that depend on the seed, with tests and seeds, then a summary."""
        right = [one for one in self.subjects if one[0].is_right]
        wrong = [one for one in self.subjects if not one[0].is_right]
        unjust = [one for one in right if any(each.failed for each in one[1])]
        uncaught = [one for one in wrong if not all(each.failed for each in one[1])]
        varying = [one for one in wrong if len({each.score for each in one[1]}) > 1]
        yield from self.problems
        for subject, results in unjust:
            for test, share in _shares(results).items():
                yield f"{subject.name} fails {test} with {share}"
        for subject, results in uncaught:
            share = _share(sum(not each.failed for each in results), len(results))
            yield f"{subject.name} in {subject.exercise} passes every test with {share}"
        for subject, results in varying:
            scores = [each.score for each in results]
            yield (
                f"{subject.name} in {subject.exercise} gets {min(scores):g} to {max(scores):g} "
                "points; it fails"
            )
            passed = {test for each in results for test in each.passed}
            for test, share in _shares(results).items():
                if test in passed:
                    yield f"    {test} with {share}"
        yield (
            f"{self.seeds} seeds: {len(right)} right functions, {len(unjust)} with points lost; "
            f"{len(wrong)} wrong ones, {len(uncaught)} not always caught, {len(varying)} with a "
            "score that depends on the seed"
        )


def _shares(results: Sequence[SeedResult]) -> dict[str, str]:
    """Returns each failed test's share of failures among the seeds under which it was run."""
    passed = Counter(test for each in results for test in each.passed)
    failed = Counter(test for each in results for test in each.failed)
    return {test: _share(number, number + passed[test]) for test, number in failed.items()}


def _share(number: int, seeds: int) -> str:
    return f"{number} of {seeds} seeds ({number / seeds:.0%})"


def steadiness(
    assignment: Assignment,
    seeds: int,
    jobs: int,
    progress: Progress,
    exercises: Collection[str] = (),
) -> Steadiness:
    """Grades references, right variants, mistakes and habits under the seeds 1, 2, ... `seeds`.

    Covers all exercises or only those in `exercises`. The seed 0 is the draw that students have.

    Raises:
        BadAssignment: if the tests cannot be run.
    """
    suite = Suite(assignment, [*exercises])
    return suite.open(lambda suite: _steadiness(suite, seeds, jobs, progress))


def _steadiness(suite: Suite, seeds: int, jobs: int, progress: Progress) -> Steadiness:
    root = suite.assignment.root
    references = load_references(root)
    subjects: dict[str, list[Subject]] = {test.exercise: [] for test in suite.tests.values()}
    for subject in _subjects(references):
        if subject.exercise in subjects:
            subjects[subject.exercise].append(subject)

    values = Counter(one.exercise for one in suite.tests.values() if one.aspect is Aspect.VALUES)
    # Load the modules that torch loads lazily here, once for all children.
    list(Judge(suite, SEED).grade(answering(root, references)))

    def examine(task: tuple[str, int]) -> list[SeedResult]:
        exercise, seed = task
        judge = Judge(suite, seed, stops_at_failures=True)
        return [
            _graded(judge, answering(root, one.functions, references), exercise, values[exercise])
            for one in subjects[exercise]
        ]

    # The costliest exercises come first, so that no processor waits for the last one.
    first = sorted(subjects, key=lambda exercise: -len(subjects[exercise]))
    tasks = [(exercise, seed) for exercise in first for seed in range(1, seeds + 1)]
    results: dict[str, list[list[SeedResult]]] = {exercise: [] for exercise in subjects}
    problems = []
    for done, (number, result) in enumerate(in_children(examine, tasks, jobs, _SECONDS), start=1):
        exercise, seed = tasks[number]
        if isinstance(result, str):
            problems.append(f"{exercise} was not tried with the seed {seed}, {result}")
        else:
            results[exercise].append(result)
        progress(done, len(tasks))
    rows = [
        (subject, tuple(each[place] for each in results[exercise]))
        for exercise, own in subjects.items()
        for place, subject in enumerate(own)
    ]
    return Steadiness(tuple(rows), seeds, tuple(problems))


def _subjects(references: Mapping[str, Callable[..., object]]) -> Iterator[Subject]:
    """Yields the functions that are right or wrong on purpose, exercise by exercise."""
    for exercise in references:
        yield Subject("the reference", exercise, True, references)
    for variant in listed_in("solutions.variants", "VARIANTS"):
        for exercise in variant.functions:
            yield Subject(f"the right variant {variant.name!r}", exercise, True, variant.functions)
    for exercise, several in wrong_functions().items():
        for one in several:
            name = f"{one.mistake}, way {one.way},"
            yield Subject(name, exercise, False, {exercise: one.function})


def _digested(answer: Answer) -> Answer:
    """Returns the answer with its digest: the judge judges equal answers only once."""
    frame = encode_answer(answer)
    return replace(answer, digest=hashlib.sha256(frame).digest(), size=len(frame))


def _graded(judge: Judge, ask: Callable[[Call], Answer], exercise: str, values: int) -> SeedResult:
    """Grades one exercise; stops after its `values` tests of values if none of them passes."""
    verdicts: list[Verdict] = []
    for verdict in judge.grade(lambda call: _digested(ask(call)), (exercise,)):
        verdicts.append(verdict)
        if len(verdicts) == values and not any(_passed(one) for one in verdicts):
            break
    return SeedResult(
        round(total(one.score for one in verdicts), 2),
        failed=tuple(one.id for one in verdicts if not _passed(one)),
        passed=tuple(one.id for one in verdicts if _passed(one)),
    )


def _passed(verdict: Verdict) -> bool:
    return verdict.status is Status.PASSED
