"""Classes of any size, as a batch stores them, for the tests of pages and reports.

A seed makes up the failures in a real class's proportions. Most submissions are right in most
exercises, mistakes appear in several exercises at once, and a few submissions are unreadable.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from grader.core.evidence import Evidence, Excerpt, Picture, StepSeen, StepWalk
from grader.core.submission import Author
from grader.core.verdict import (
    Aspect,
    Diagnosis,
    Grade,
    GradeStatus,
    Measurement,
    Status,
    Verdict,
    Visibility,
    Where,
)
from grader.results.results import People
from grader.results.store import Store
from tests.harness.storing import add

FIRST = ("Ada", "Bo", "Chiara", "Dmitri", "Elif", "Fatou", "Goran", "Hana", "José", "Kwame", "Olu")
LAST = ("Achebe", "Berg", "Çelik", "Diaz", "Fischer", "Garcia", "Ivanova", "Jones", "Kim", "López")
ASPECTS = (Aspect.VALUES,) * 6 + (Aspect.GENERALITY,) * 8 + (Aspect.NUMERICS,) * 2
REST = (Aspect.GRADIENTS, Aspect.DISCIPLINE, Aspect.EFFICIENCY)
SOURCE = (
    "def attention(q, k, v, mask=None):",
    '    """Every query looks at every key that the mask allows."""',
    "    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])",
    "    if mask is not None:",
    "        scores = scores.masked_fill(mask, float('-inf'))",
    "    weights = softmax(scores, dim=-1)  # over the keys",
    "    return weights @ v",
)
# Id, explanation, hint, and the share of a class that makes the mistake.
MISTAKES = (
    (
        "mask-inverted",
        "The mask works the wrong way round: what it allows is hidden.",
        "What does True in a mask stand for?",
        0.14,
    ),
    (
        "rope-half-split",
        "RoPE must rotate neighbouring features; yours rotates features half a vector apart.",
        "Which two features turn together?",
        0.12,
    ),
    (
        "no-scale",
        "Scores are not scaled before the softmax.",
        "What becomes of large scores in a softmax?",
        0.09,
    ),
    (
        "causal-missing",
        "Tokens see those that come after them.",
        "Which keys may a query see?",
        0.07,
    ),
    (
        "heads-merge-without-transpose",
        "Heads are merged without their axes changing places.",
        "In which order do the numbers lie?",
        0.05,
    ),
)
ERRORS = (
    "RuntimeError: The size of tensor a (7) must match the size of tensor b (5) (attention.py:"
    "5)\n    scores = scores.masked_fill(mask, float('-inf'))",
    "TypeError: forward() got an unexpected keyword argument 'token_positions' (adapters.py:"
    "31)\n    return module(x, token_positions=positions)",
)


@dataclass(frozen=True, slots=True)
class ATest:
    """One test of the made-up assignment."""

    id: str
    exercise: str
    aspect: Aspect
    visibility: Visibility
    points: float


def suite(exercises: int = 15, tests: int = 17) -> list[ATest]:
    """Returns an assignment with this number of exercises and tests, a third of them public."""
    found = []
    for number in range(exercises):
        for place in range(tests):
            aspect = (ASPECTS + REST)[place % (len(ASPECTS) + len(REST))]
            public = place % 3 == 0
            folder = "public" if public else "hidden"
            found.append(
                ATest(
                    f"tests/{folder}/test_part.py::test_exercise_{number}_of_{aspect}[{place}]",
                    f"run_exercise_{number}",
                    aspect,
                    Visibility.PUBLIC if public else Visibility.HIDDEN,
                    round(100 / exercises / tests, 6),
                )
            )
    return found


def a_class(count: int, seed: int = 1) -> Iterator[Grade]:
    """Yields the grades of a class, with their evidence."""
    tests = suite()
    for number in range(count):
        yield a_submission(tests, number, random.Random(f"{seed}-{number}"))


def regraded(grades: Iterator[Grade]) -> Iterator[Grade]:
    """Yields the class after a fix of a test: its first exercise is now right for everyone.

    Every fifth submission now fails the second exercise. One submission is not graded.
    """
    for number, grade in enumerate(grades):
        if number == 1:
            yield replace(grade, status=GradeStatus.NOT_GRADED, message="the worker was lost")
            continue
        verdicts = tuple(_regraded(v, number % 5 == 0) for v in grade.tests)
        score = round(sum(verdict.score for verdict in verdicts), 4)
        unreadable = grade.status is GradeStatus.UNREADABLE
        yield grade if unreadable else replace(grade, tests=verdicts, score=score)


def _regraded(verdict: Verdict, stumbles: bool) -> Verdict:
    if verdict.exercise == "run_exercise_0" and verdict.status is Status.FAILED:
        passed = {"status": Status.PASSED, "score": verdict.max_score}
        return verdict._replace(**passed, message=None, diagnosis=None, where=None)
    if verdict.exercise == "run_exercise_1" and verdict.status is Status.PASSED and stumbles:
        return verdict._replace(status=Status.ERROR, score=0.0, message=ERRORS[0])
    return verdict


def store_class(folder: Path, grades: Iterator[Grade], with_people: bool = True) -> Path:
    """Stores a class as a batch does; returns the folder."""
    with Store.open(folder, "attention") as store:
        names = []
        for place, grade in enumerate(grades):
            add(store, grade, "key", place)
            names.append(grade.submission)
        if with_people:
            authors = {name: [Author(*_person(name))] for name in names}
            store.set_people(
                People(authors, names[3::17], [Author("Wanda Absent", "w1", "w@x.edu")])
            )
    return folder


def a_submission(tests: list[ATest], number: int, rng: random.Random) -> Grade:
    """Returns the grade of one submission of the class."""
    first, last = rng.choice(FIRST), rng.choice(LAST)
    name = f"{last}-{first}-{number:05d}".lower()
    graded = Grade(
        submission=name,
        status=GradeStatus.GRADED,
        score=0.0,
        max_score=round(sum(test.points for test in tests), 4),
        seed=7,
        submission_hash=f"{number:064x}",
        suite_hash="suite",
        duration_s=round(1.5 + rng.expovariate(0.8), 3),
        message=None,
        isolation={"network": "denied"},
        tests=(),
    )
    if rng.random() < 0.03:
        return _unreadable(graded, tests)
    verdicts, evidence = _judged(tests, rng)
    score = round(sum(verdict.score for verdict in verdicts), 4)
    notes = ("notes.pdf (9 MB) was left out: it is larger than 8 MB",) * (rng.random() < 0.02)
    return replace(graded, score=score, tests=verdicts, evidence=evidence, notes=notes)


def with_a_shared_mistake(exercises: int = 8) -> Grade:
    """Returns a grade in which one wrong line fails all exercises, with all kinds of evidence."""
    tests, rng = suite(exercises), random.Random(5)
    verdicts = tuple(_planned(test, "mask-inverted", rng) for test in tests)
    grade = a_submission(tests, 0, rng)
    return replace(
        grade,
        submission="shared",
        status=GradeStatus.GRADED,
        message=None,
        tests=verdicts,
        score=0.0,
        evidence=_evidence(verdicts, rng),
    )


def _unreadable(grade: Grade, tests: list[ATest]) -> Grade:
    message = "SyntaxError: '(' was never closed (attention.py:3)"
    where = Where("attention.py", 3)
    verdicts = tuple(_verdict(test, Status.ERROR, message=message, where=where) for test in tests)
    evidence = Evidence(excerpts=(an_excerpt(0.0),))
    return replace(
        grade,
        status=GradeStatus.UNREADABLE,
        message=message,
        tests=verdicts,
        evidence=evidence,
    )


def _judged(tests: list[ATest], rng: random.Random) -> tuple[tuple[Verdict, ...], Evidence]:
    """Returns verdicts and evidence by each exercise's failure; a mistake spreads to others."""
    exercises = list(dict.fromkeys(test.exercise for test in tests))
    plans = {exercise: "right" for exercise in exercises}
    for place, (mistake, _, _, share) in enumerate(MISTAKES):
        if rng.random() < share:
            for exercise in rng.sample(exercises[place::2], 2):
                plans[exercise] = mistake
    for plan, share in (("narrow", 0.25), ("error", 0.08), ("timeout", 0.02), ("crashed", 0.02)):
        if rng.random() < share:
            plans[rng.choice(exercises)] = plan
    if rng.random() < 0.12:
        plans |= dict.fromkeys(rng.sample(exercises, rng.randint(1, 8)), "missing")
    verdicts = tuple(_planned(test, plans[test.exercise], rng) for test in tests)
    return verdicts, _evidence(verdicts, rng)


def _planned(test: ATest, plan: str, rng: random.Random) -> Verdict:
    narrow = plan == "narrow" and test.aspect is Aspect.GENERALITY and rng.random() < 0.6
    if plan == "right" or (plan == "narrow" and not narrow):
        error = 10 ** rng.uniform(-3.5, -0.6)
        return _verdict(test, Status.PASSED, measurement=_measured(error))
    if plan in ("timeout", "crashed"):
        return _verdict(test, Status(plan), message=f"run_it {plan} after 10 s")
    if plan == "missing":
        return _verdict(test, Status.MISSING, message=f"{test.exercise} is not implemented yet")
    where = Where("attention.py", 5, "masked")
    if plan in ("error", "narrow"):
        message = ERRORS[int(plan == "narrow")]
        return _verdict(test, Status.ERROR, message=message, where=Where("attention.py", 5))
    explanation, hint = next((e, h) for m, e, h, _ in MISTAKES if m == plan)
    return _verdict(
        test,
        Status.FAILED,
        message="105 of 105 values in the result are wrong; the worst is off by 1",
        measurement=_measured(10 ** rng.uniform(2, 6)),
        diagnosis=Diagnosis(plan, explanation, hint),
        where=where,
    )


def _verdict(test: ATest, status: Status, **more: object) -> Verdict:
    score = test.points if status is Status.PASSED else 0.0
    return Verdict(
        test.id, test.exercise, test.aspect, status, score, test.points, test.visibility, 0.01,
        **more,
    )  # fmt: skip


def _measured(error: float) -> Measurement:
    wrong = 0 if error <= 1 else 105
    return Measurement(error * 1e-5, error * 1e-4, 1.3e-6, 1e-5, error, wrong, 105, (1, 2, 3))


def _evidence(verdicts: tuple[Verdict, ...], rng: random.Random) -> Evidence:
    failed = [v for v in verdicts if v.status is Status.FAILED]
    drawn = [v for v in failed if v.visibility is Visibility.PUBLIC]
    walks = {v.exercise: a_walk(v) for v in reversed(failed)}
    places = any(v.where for v in verdicts)
    return Evidence(
        pictures=tuple(a_picture(verdict.id, rng) for verdict in drawn),
        walks=tuple(walks.values()),
        excerpts=(an_excerpt(rng.random()),) if places else (),
        printed="training…\nloss 0.3\n" * 5 if rng.random() < 0.1 else "",
    )


def an_excerpt(own: float) -> Excerpt:
    """Returns lines of a file that differ between submissions."""
    return Excerpt("attention.py", 1, (*SOURCE, f"EPSILON = {own}"))


def a_walk(verdict: Verdict) -> StepWalk:
    """Returns a step comparison whose second step is wrong."""
    steps = (
        StepSeen("scores", (2, 3, 5, 7), (6, 5, 7), True),
        StepSeen("masked", (2, 3, 5, 7), (6, 5, 7), False),
        StepSeen("weights", (2, 3, 5, 7), None, None),
    )
    return StepWalk(verdict.exercise, verdict.id, steps)


def a_picture(test: str, rng: random.Random) -> Picture:
    """Returns attention weights of two sequences and three heads; some values are not numbers."""
    shape = (2, 3, 5, 7)
    expected = [rng.random() for _ in range(math.prod(shape))]
    got = [1 - number for number in expected]
    got[3], got[10], got[11] = math.nan, math.inf, -math.inf
    axes = ("the first leading axis", "heads", "queries", "keys")
    return Picture(test, "the result", axes, shape, tuple(expected), tuple(got))


def _person(name: str) -> tuple[str, str, str]:
    last, first, number = name.rsplit("-", 2) if name.count("-") > 1 else (name, "", "0")
    return f"{first} {last}".title().strip(), number, f"{name[:40]}@school.edu"
