"""Rules about points: which mistakes are deducted elsewhere, and what forbidden calls cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from grader.core.verdict import Aspect, Status, Verdict, Visibility
from grader.core.wire.calls import Answer, Call
from grader.grading.judge.carry_forward import CarriedPoints, CarryForward
from grader.grading.judge.variants import Way, tells
from grader.testing.course import Foundations
from grader.testing.outcome import StudentFault
from grader.testing.outcome_cache import AnsweredCall

pytestmark = pytest.mark.unit

PASSED, FAILED, ERROR = Status.PASSED, Status.FAILED, Status.ERROR
VALUES, NUMERICS = Aspect.VALUES, Aspect.NUMERICS


def verdict(test: str, status: Status = FAILED, aspect: Aspect = VALUES, **fields: Any) -> Verdict:
    """Returns a verdict on a test whose id is `EXERCISE/NAME`, worth one point."""
    exercise = test.partition("/")[0]
    score = 1.0 if status is PASSED else 0.0
    own = Verdict(test, exercise, aspect, status, score, 1.0, Visibility.HIDDEN)
    return own._replace(**fields)


def twice(exercise: str, status: Status = FAILED) -> list[Verdict]:
    """Returns verdicts on two tests of an exercise's values."""
    return [verdict(f"{exercise}/one", status), verdict(f"{exercise}/two", status)]


def answered(value: Any = 1.0) -> list[AnsweredCall]:
    """Returns the calls of a test, with one answer."""
    return [AnsweredCall(Call("run_it", {}), Answer(torch.tensor([value] * 2)))]


@dataclass
class Mistakes:
    """Stands for the variants: tables say what they account for, and how tests end with them."""

    accounted: set[tuple[str, Way]]
    statuses: dict[tuple[str, Way], Status] = field(default_factory=dict)

    def accounts_for(self, test: str, way: Way, asked: Any, _ask: Any) -> bool:
        assert asked
        return (test, way) in self.accounted

    def status(self, test: str, way: Way) -> Status:
        return self.statuses.get((test, way), PASSED)


def accounting(*ways: Way, tests: Mapping[str, tuple[str, ...]] | None = None) -> Any:
    """Returns pairs of tests and ways: each way accounts for both tests of its exercise."""
    return {
        (f"{way.exercise}/{name}", way)
        for way in ways
        for name in (tests or {}).get(way.exercise, ("one", "two"))
    }


NOTHING: Callable[..., Any] = lambda *_: None  # noqa: E731
IN_A, IN_B = Way("m", "run_a", 0), Way("m", "run_b", 0)
ON_A = Foundations(
    {"run_b": ("run_a",)}, {"m": {"run_a": (NOTHING,), "run_b": (NOTHING,)}, "n": {}}
)


def found(
    mistakes: Mistakes,
    verdicts: list[Verdict],
    foundations: Foundations = ON_A,
    asked: Callable[[str], Any] = lambda _: answered(),
) -> dict[str, tuple[str, str, int, str]]:
    """Returns, by exercise, the root, and the mistake, number and exercise of its way."""
    search = CarryForward(mistakes, foundations, verdicts, asked, NOTHING)
    return {
        name: (paid.root, paid.way.mistake, paid.way.number, paid.way[1])
        for name, paid in search.found().items()
    }


def test_right_code_on_a_wrong_exercise_is_paid_for_there():
    """The root itself has none below it, and pays."""
    both = Mistakes(accounting(IN_A, IN_B))
    assert found(both, [*twice("run_a"), *twice("run_b")]) == {"run_b": ("run_a", "m", 0, "run_b")}


@pytest.mark.parametrize(
    ("ways", "verdicts"),
    [
        ((IN_A, IN_B), [*twice("run_a", PASSED), *twice("run_b")]),
        ((IN_A, IN_B), [*twice("run_a", Status.MISSING), *twice("run_b")]),
        ((IN_A, IN_B), [*twice("run_a"), *twice("run_b")[:1]]),
        ((IN_A, IN_B), [*twice("run_a")[:1], *twice("run_b")]),
        ((IN_B,), [*twice("run_a"), *twice("run_b")]),
        ((IN_A,), [*twice("run_a"), *twice("run_b")]),
        ((IN_A, IN_B), [*twice("run_a"), *twice("run_b"), verdict("run_b/three")]),
        ((IN_A, IN_B), [*twice("run_a"), *twice("run_b"), verdict("run_b/x", Status.TIMEOUT)]),
        ((IN_A, IN_B), [*twice("run_a"), *twice("run_b"), verdict("run_b/x", ERROR)]),
    ],
    ids=[
        "the root is right",
        "the root is missing",
        "one wrong test tells little",
        "one wrong test of the root tells little",
        "the root has another mistake",
        "the exercise has another mistake",
        "one test has another wrong answer",
        "one test was late",
        "one test raised, and passes with the mistake",
    ],
)
def test_no_points_come_back_unless_the_mistake_explains_every_telling_test(ways, verdicts):
    assert found(Mistakes(accounting(*ways)), verdicts) == {}


def test_a_test_that_passes_or_raises_must_do_so_with_the_mistake_too():
    """Otherwise the exercise does not have this mistake."""
    more = [verdict("run_b/right", PASSED), verdict("run_b/raises", ERROR)]
    verdicts = [*twice("run_a"), *twice("run_b"), *more]
    statuses = {("run_b/raises", IN_B): ERROR}
    assert found(Mistakes(accounting(IN_A, IN_B), statuses), verdicts)
    for test in ("run_b/right", "run_b/raises"):
        otherwise = statuses | {(test, IN_B): FAILED}
        assert not found(Mistakes(accounting(IN_A, IN_B), otherwise), verdicts)


@pytest.mark.parametrize(("aspect", "is_decisive"), [
    (VALUES, True), (Aspect.GENERALITY, True), (NUMERICS, False), (Aspect.DISCIPLINE, False),
])  # fmt: skip
def test_only_tests_of_values_and_generality_decide(aspect, is_decisive):
    """Large scores and low precision hardly tell mistakes apart, whether they fail or pass."""
    for other in (verdict("run_b/x", aspect=aspect), verdict("run_b/x", PASSED, aspect)):
        mistakes = Mistakes(accounting(IN_A, IN_B), {("run_b/x", IN_B): FAILED})
        assert bool(found(mistakes, [*twice("run_a"), *twice("run_b"), other])) is not is_decisive


def test_other_wrong_tests_come_back_only_if_the_mistake_accounts_for_them():
    """A loop or an overwritten input costs its points in the exercise itself."""
    others = [verdict("run_b/large", aspect=NUMERICS), verdict("run_b/loop", aspect=NUMERICS)]
    accounted = accounting(IN_A, IN_B) | {("run_b/large", IN_B)}
    search = CarryForward(
        Mistakes(accounted),
        ON_A,
        [*twice("run_a"), *twice("run_b"), *others],
        lambda _: answered(),
        NOTHING,
    )
    fixed = frozenset({"run_b/one", "run_b/two", "run_b/large"})
    assert search.found() == {"run_b": CarriedPoints(IN_B, fixed, "run_a")}


@pytest.mark.parametrize(
    ("answers", "is_carried"),
    [(1.0, True), (math.nan, False), (math.inf, False), (None, False), ("late", False)],
)
def test_an_answer_without_numbers_is_no_evidence(answers, is_carried):
    """Two tests of the exercise must have finite answers; a test without calls has none."""
    known = {
        "late": [AnsweredCall(Call("run_b", {}), StudentFault(Status.TIMEOUT, "late"))],
        None: [],
    }

    def asked(test: str) -> Any:
        if test != "run_b/two":
            return answered()
        return known[answers] if answers in known else answered(answers)

    verdicts = [*twice("run_a"), *twice("run_b")]
    assert bool(found(Mistakes(accounting(IN_A, IN_B)), verdicts, asked=asked)) is is_carried


@pytest.mark.parametrize("looks", range(1, 8))
def test_answers_that_are_no_longer_examined_are_no_evidence(looks):
    """The time to examine them may end between any two looks at them."""
    left = [looks]

    def asked(test: str) -> Any:
        left[0] -= 1
        return answered(math.nan if "run_b" in test else 1.0) if left[0] >= 0 else []

    verdicts = [*twice("run_a"), *twice("run_b")]
    assert not found(Mistakes(accounting(IN_A, IN_B)), verdicts, asked=asked)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([1.0, 2.0, math.nan], True),
        ([1.0, math.nan], False),
        ([math.inf, math.nan, 1.0], False),
        ([], False),
    ],
)
def test_an_answer_tells_if_most_of_its_numbers_are_finite(value, expected):
    """The gradients count as well."""
    good, own = torch.ones(3), torch.tensor(value)
    call = Call("run_it", {})
    for answer in (Answer(own), Answer(good, gradients={"x": own})):
        assert tells(AnsweredCall(call, answer)) is expected
    assert not tells(AnsweredCall(call, StudentFault(FAILED, "too large")))


# --- Ways and roots -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("below", "above", "accounted", "expected"),
    [
        (2, 2, [("run_a", 1), ("run_b", 1)], 1),
        (2, 2, [("run_a", 1), ("run_b", 0)], None),
        (2, 2, [("run_a", 0), ("run_a", 1), ("run_b", 1)], 1),
        (1, 2, [("run_a", 0), ("run_b", 1)], 1),
        (2, 1, [("run_a", 1), ("run_b", 0)], 0),
    ],
)
def test_exercises_that_know_as_many_ways_make_the_mistake_in_the_same_way(
    below, above, accounted, expected
):
    """If their numbers differ, any way of one may go with any of the other."""
    foundations = Foundations(
        {"run_b": ("run_a",)},
        {"m": {"run_a": (NOTHING,) * below, "run_b": (NOTHING,) * above}},
    )
    mistakes = Mistakes(accounting(*(Way("m", *one) for one in accounted)))
    told = found(mistakes, [*twice("run_a"), *twice("run_b")], foundations)
    assert told == ({} if expected is None else {"run_b": ("run_a", "m", expected, "run_b")})


def test_a_test_that_also_calls_the_exercise_below_may_be_explained_there():
    """The way is then one of the exercise below."""
    accounted = accounting(IN_A) | {("run_b/one", IN_A), ("run_b/two", IN_A)}
    told = found(Mistakes(accounted), [*twice("run_a"), *twice("run_b")])
    assert told == {"run_b": ("run_a", "m", 0, "run_a")}


def tower(*names: str, mistakes: str = "m", **more: Any) -> Foundations:
    """Returns exercises that each build on all the earlier ones, the nearest first."""
    builds_on = {name: tuple(reversed(names[:place])) for place, name in enumerate(names) if place}
    known = {mistake: dict.fromkeys(names, (NOTHING,)) for mistake in mistakes}
    return Foundations(builds_on, known, **more)


def test_a_chain_has_one_root():
    """An exercise whose nearest foundation is itself paid for elsewhere is paid for there too."""
    three = ("run_a", "run_b", "run_c")
    mistakes = Mistakes(accounting(*(Way("m", name, 0) for name in three)))
    told = found(mistakes, [one for name in three for one in twice(name)], tower(*three))
    assert {name: root for name, (root, *_) in told.items()} == {
        "run_b": "run_a",
        "run_c": "run_a",
    }


def test_an_exercise_below_that_is_paid_for_another_mistake_is_no_root():
    """Its points came back for that one; the next exercise below may be the root."""
    three = ("run_a", "run_b", "run_c")
    # `run_a` and `run_b` share m; `run_b` and `run_c` share n, which `run_b` was not made to pay.
    accounted = accounting(Way("m", "run_a", 0), Way("m", "run_b", 0), Way("n", "run_b", 0))
    accounted |= accounting(Way("n", "run_c", 0))
    verdicts = [one for name in three for one in twice(name)]
    told = found(Mistakes(accounted), verdicts, tower(*three, mistakes="mn"))
    assert told == {"run_b": ("run_a", "m", 0, "run_b")}
