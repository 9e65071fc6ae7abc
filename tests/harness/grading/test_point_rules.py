"""Rules about points: what forbidden calls cost, and how many points come back."""

from __future__ import annotations

from typing import Any

import pytest

from grader.core.verdict import Aspect, Carried, Status, Verdict, Visibility
from grader.core.wire.calls import Use
from grader.grading.job.client import remarks_of
from grader.grading.judge.carry_forward import CarriedPoints, carried_points
from grader.grading.judge.deductions import applied, gated, summary
from grader.grading.judge.variants import Way
from grader.sandbox.claims import Uses
from tests.harness.export_fixtures import a_grade

pytestmark = pytest.mark.unit

PASSED, FAILED = Status.PASSED, Status.FAILED
VALUES, NUMERICS = Aspect.VALUES, Aspect.NUMERICS
IN_B = Way("m", "run_b", 0)


def verdict(test: str, status: Status = FAILED, aspect: Aspect = VALUES, **fields: Any) -> Verdict:
    """Returns a verdict on a test whose id is `EXERCISE/NAME`, worth one point."""
    exercise = test.partition("/")[0]
    score = 1.0 if status is PASSED else 0.0
    own = Verdict(test, exercise, aspect, status, score, 1.0, Visibility.HIDDEN)
    return own._replace(**fields)


ADD, SUM = Use("torch.add", "adapters.py", 5), Use("torch.sum", "adapters.py", 6)
WISH = "which must be written by hand in this assignment"


@pytest.fixture
def uses(tmp_path) -> Uses:
    """The uses of a submission, which calls torch.add in one exercise."""
    (tmp_path / "adapters.py").write_text("")
    own = Uses(("torch.add", "torch.sum"), tmp_path)
    own.note_call("run_a", [ADD])
    return own


def in_short(verdicts: Any) -> list[tuple[float, str | None]]:
    return [(one.score, one.message) for one in verdicts]


def test_a_forbidden_call_costs_its_share_of_the_points_that_were_earned(uses):
    """Each test that earned some says why; hundredths are shared out without a rest."""
    tests = [
        verdict("run_a/one", PASSED, score=0.33, message="a note"),
        verdict("run_a/two"),
        verdict("run_a/three", PASSED, score=0.34),
        verdict("run_b/one", PASSED),
    ]
    used = f"The submission uses torch.add (adapters.py:5), {WISH}"
    cost = f"{used}: 50% of this exercise's points are taken off"
    assert in_short(applied(tests, uses, {"torch.add": 50.0})) == [
        (0.17, f"a note\n{cost}"),
        (0.0, None),
        (0.17, cost),
        (1.0, None),
    ]


def test_a_repeated_explanation_keeps_only_the_judges_remarks(uses):
    """Lines of the first explanation would stand twice in the second one's message."""
    remark = applied([verdict("run_a/one")], uses, {"torch.add": 0.0})[0].message
    told = verdict("run_a/one", message=f"it is wrong\n    index  got\n{remark}")
    assert remarks_of(a_grade("jane", told)) == {"run_a/one": remark}


def test_the_dearest_of_several_forbidden_calls_counts(uses):
    """All are named."""
    uses.note_call("run_a", [SUM])
    (test,) = applied([verdict("run_a/one", PASSED)], uses, {"torch.add": 10.0, "torch.sum": 25.0})
    assert test.score == 0.75
    assert test.message is not None
    assert test.message.startswith(
        "The submission uses torch.add (adapters.py:5) and torch.sum (adapters.py:6),"
    )
    assert ": 25% " in test.message


@pytest.mark.parametrize(
    ("cost", "statuses", "noted"),
    [
        (0.0, [FAILED, PASSED, PASSED], [1]),
        (0.0, [FAILED, FAILED], [0]),
        (50.0, [FAILED, FAILED], [0]),
        (50.0, [FAILED, PASSED, PASSED], [1, 2]),
    ],
)
def test_one_test_has_the_note_unless_several_lose_points(uses, cost, statuses, noted):
    """If the exercise earned nothing, its first test has it."""
    tests = [verdict(f"run_a/{number}", status) for number, status in enumerate(statuses)]
    judged = applied(tests, uses, {"torch.add": cost})
    assert [place for place, test in enumerate(judged) if test.message] == noted


def test_an_exercise_without_tests_is_passed_over(uses):
    """A batch of one exercise may call another adapter."""
    assert applied([], uses, {"torch.add": 50.0}) == ()


def test_a_summary_names_calls_and_imports(uses, tmp_path):
    """Without either there is none. It says so if all of them are free."""
    costs = {"torch.add": 0.0, "torch.sum": 25.0}
    free = "(this costs no points)"
    assert summary(uses, costs) == f"it uses torch.add (adapters.py:5), {WISH} {free}"
    uses.note_import([SUM])
    told = f"it uses torch.add (adapters.py:5) and torch.sum (adapters.py:6), {WISH}"
    assert summary(uses, costs) == told
    assert summary(Uses((), tmp_path), costs) is None


@pytest.mark.parametrize(
    ("status", "values", "message"),
    [
        (FAILED, FAILED, "why"),
        (PASSED, PASSED, "why"),
        (PASSED, FAILED, "why\nearns none of its points, because none of the points for this "
         "exercise's values are earned"),
    ],
)  # fmt: skip
def test_only_a_test_that_passed_without_right_values_gets_a_remark(status, values, message):
    """A failed one has its own message."""
    other = verdict("run_a/more", status, NUMERICS, message="why")
    *_, last = gated([verdict("run_a/one", values), other])
    assert (last.message, last.status) == (message, status)
    assert last.score == (1.0 if status is values is PASSED else 0.0)


# --- Points that come back ----------------------------------------------------------------------


def back(tests: list[Verdict], uses: Uses, cost: float = 0.0, percent: float = 100.0) -> Any:
    """Returns the points that come back to `run_b`, whose failed tests the mistake explains."""
    fixed = frozenset(one.id for one in tests if one.status is FAILED and "loop" not in one.id)
    paid = {"run_b": CarriedPoints(IN_B, fixed, "run_a")}
    return carried_points(tests, paid, uses, {"torch.add": cost}, percent)


def test_the_points_come_back_as_if_the_mistake_were_right(uses, tmp_path):
    """Other faults, and other rules, cost as much as they would then."""
    values = [verdict("run_b/one"), verdict("run_b/two", PASSED)]
    more = verdict("run_b/x", PASSED, NUMERICS, score=0.5)
    loop = verdict("run_b/loop", aspect=NUMERICS)
    nobody = Uses((), tmp_path)
    one = [Carried("run_b", "run_a", "m", 1.0)]
    assert [*back(values, nobody)] == one
    assert [*back([*values, loop, verdict("run_a/one")], nobody)] == one
    gated = back([*values, more], nobody)
    assert [carried.points for carried in gated] == [1.5], "what wrong values cost comes back too"
    uses.note_call("run_b", [ADD])
    deducted = [verdict("run_b/one"), verdict("run_b/two", PASSED, score=0.5)]
    assert [carried.points for carried in back(deducted, uses, cost=50.0)] == [0.5]


@pytest.mark.parametrize(
    ("percent", "points"), [(100.0, [1.0]), (33.0, [0.33]), (0.5, [0.01]), (0.4, []), (0.0, [])]
)
def test_a_course_may_give_back_a_part(tmp_path, percent, points):
    """Rounded to the hundredth; nothing is not told."""
    told = back([verdict("run_b/one")], Uses((), tmp_path), percent=percent)
    assert [carried.points for carried in told] == points
