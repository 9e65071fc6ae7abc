"""Points: hundredths whose parts add up to the whole, and none without right values."""

import itertools
import random
from fractions import Fraction
from pathlib import Path

import pytest

from grader.core.assignment import Assignment, BadAssignment, find_assignment
from grader.core.points import Gate, hundredths, points_of, scaled, shared_out, total
from grader.core.verdict import Aspect, Status, Verdict, Visibility
from grader.grading.judge.deductions import gated
from grader.home.summary import ExerciseCounts
from grader.testing.course import in_building_order
from grader.testing.exercise import Membership
from grader.testing.suite import share_points

pytestmark = pytest.mark.unit

SHARES = {
    Aspect.VALUES: 60.0,
    Aspect.GENERALITY: 15.0,
    Aspect.NUMERICS: 10.0,
    Aspect.GRADIENTS: 5.0,
    Aspect.DISCIPLINE: 5.0,
    Aspect.EFFICIENCY: 5.0,
}


def random_generators(number: int = 300):
    """Returns random generators that are the same in every run."""
    return [random.Random(seed) for seed in range(number)]


def is_in_hundredths(points: float) -> bool:
    """Returns whether a number has two decimals at most."""
    return len(repr(points).partition(".")[2]) <= 2


def an_assignment(points: float, aspects: dict[Aspect, float] | None = None) -> Assignment:
    """Returns an assignment of one exercise."""
    return Assignment(Path(), "one", {"run_x": points}, aspects or SHARES, 1.0, {})


def verdict_on_x(
    aspect: Aspect, score: float, worth: float = 1.0, message: str | None = None
) -> Verdict:
    """Returns a verdict on an exercise; it passes if its score is its full worth."""
    status = Status.PASSED if score == worth else Status.FAILED
    return Verdict(
        "test", "run_x", aspect, status, score, worth, Visibility.PUBLIC, message=message
    )


# --- Parts and wholes ---------------------------------------------------------------------------


@pytest.mark.process(takes="a second")
def test_parts_add_up_to_the_whole_whatever_the_weights():
    """Each part is less than one hundredth away from its exact share."""
    for chance in random_generators():
        weights = [
            chance.choice((0, 1, 1.5, chance.random())) for _ in range(chance.randint(1, 40))
        ]
        weights.append(1)
        whole = chance.randint(0, 2000)
        parts = shared_out(whole, weights)
        assert sum(parts) == whole
        for part, weight in zip(parts, weights, strict=True):
            exact = whole * Fraction(weight) / sum(map(Fraction, weights))
            assert abs(part - exact) < 1


def test_sums_of_scores_are_exact():
    """Ten times a tenth is one."""
    assert total([0.1] * 10) == 1.0
    assert total([1.1, 2.2]) == 3.3
    assert total([]) == 0.0


def test_scaled_parts_add_up_and_full_stays_full():
    """A platform may give the assignment another number of points."""
    for chance in random_generators():
        worth = [chance.randint(0, 1200) for _ in range(chance.randint(1, 15))]
        got = [chance.choice((0, worth_of, chance.randint(0, worth_of))) for worth_of in worth]
        most = chance.choice((1.0, 20.0, 33.33, 7.0))
        pairs = [(points_of(a), points_of(b)) for a, b in zip(got, worth, strict=True)]
        parts = scaled(pairs, most)
        if sum(worth):
            assert total(possible for _, possible in parts) == most
        for (before, of), (after, possible) in zip(pairs, parts, strict=True):
            assert is_in_hundredths(after)
            assert is_in_hundredths(possible)
            assert 0 <= after <= possible
            assert after == possible or before != of
            assert after == 0 or before != 0


def test_unscaled_parts_are_only_rounded_to_hundredths():
    """Only rounding errors below a hundredth are removed."""
    assert scaled([(1.5, 3.0), (0.1 + 0.2, 4.0)], None) == [(1.5, 3.0), (0.3, 4.0)]


# --- The points of tests ------------------------------------------------------------------------


def test_points_of_tests_add_up_to_the_points_of_their_exercise():
    """This holds for any number of tests and any weights."""
    for chance in random_generators():
        points = chance.randint(0, 1500) / 100
        tests = {
            str(number): Membership(
                "run_x", chance.choice([*Aspect]), chance.choice((1.0, 2.0, 0.3))
            )
            for number in range(chance.randint(1, 40))
        }
        shared = share_points(an_assignment(points), tests)
        assert [*shared] == [*sorted(shared, key=lambda t: [*shared].index(t))]
        assert shared.keys() == tests.keys()
        assert all(map(is_in_hundredths, shared.values()))
        assert total(shared.values()) == points


def test_the_share_of_an_aspect_is_divided_among_its_tests():
    """The order of the tests only decides which of them gets an extra hundredth."""
    aspects = [Aspect.VALUES] * 2 + [Aspect.GENERALITY] * 3
    tests = {str(n): Membership("run_x", aspect, 1.0) for n, aspect in enumerate(aspects)}
    shared = share_points(an_assignment(5.0), tests)
    assert [*shared.values()] == [2.0, 2.0, 0.34, 0.33, 0.33]
    backwards = share_points(an_assignment(5.0), dict(reversed(tests.items())))
    assert sorted(backwards.values()) == sorted(shared.values())


def test_some_tests_carry_no_points_if_there_are_fewer_hundredths_than_tests():
    """Tests without points still run and are reported."""
    tests = {str(number): Membership("run_x", Aspect.VALUES, 1.0) for number in range(4)}
    assert [*share_points(an_assignment(0.02), tests).values()] == [0.01, 0.01, 0.0, 0.0]


def test_points_at_home_do_not_depend_on_the_order_of_tests():
    """The order in which the tests run makes no difference."""
    tests = [
        ("passed", False, 40),
        ("passed", True, 30),
        ("failed", True, 30),
        ("missing", False, 5),
    ]
    for order in itertools.permutations(tests):
        counts = ExerciseCounts()
        for outcome, is_of_values, worth in order:
            counts.add(outcome, is_of_values, worth)
        assert (counts.points, counts.possible, counts.counts_less) == (50, 105, True)


@pytest.mark.parametrize("weights", [(0.0, 0.0), (1.0, -1.0), (2.0, -1.0), (float("inf"), 1.0)])
def test_weights_that_cannot_divide_points_are_refused(weights):
    """The author reads about the error before anything is graded."""
    tests = {
        str(number): Membership("run_x", Aspect.VALUES, weight)
        for number, weight in enumerate(weights)
    }
    with pytest.raises(BadAssignment, match=r"the weights of run_x's tests of values"):
        share_points(an_assignment(1.0), tests)


def test_an_exercise_may_be_worth_one_hundredth(tmp_path):
    """A third is allowed as well, written in hundredths."""
    table = '[tool.grader]\nname = "x"\n[tool.grader.exercises]\nrun_x = 0.01\nrun_y = 33.33\n'
    (tmp_path / "pyproject.toml").write_text(table)
    assert find_assignment(tmp_path).points == {"run_x": 0.01, "run_y": 33.33}


# --- No work, no points -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "others", "message"),
    [
        ([1.0, 1.0], [1.0, 1.0], None),
        (
            [1.0, 0.0],
            [0.5, 0.5],
            "earns half of its points, because half of the points for this exercise's values are "
            "earned",
        ),
        (
            [0.0, 0.0],
            [0.0, 0.0],
            "earns none of its points, because none of the points for this exercise's values are "
            "earned",
        ),
    ],
)
def test_points_of_other_aspects_count_in_proportion_to_right_values(values, others, message):
    """With half of the values right, other tests count half, and their verdicts say so."""
    tests = [verdict_on_x(Aspect.VALUES, score) for score in values]
    tests += [verdict_on_x(Aspect.DISCIPLINE, 1.0), verdict_on_x(Aspect.GENERALITY, 1.0)]
    found = [*gated(tests)]
    assert [verdict.score for verdict in found] == values + others
    assert {verdict.message for verdict in found[2:]} == {message}
    assert {verdict.status for verdict in found[2:]} == {Status.PASSED}


def test_a_message_gives_the_earned_share_in_percent():
    """A share between nothing and everything is never rounded to 0% or 100%."""
    for right, words in ((1, "earns 1% "), (333, "earns 33% "), (999, "because 99% ")):
        tests = [verdict_on_x(Aspect.VALUES, points, points) for points in (right / 100, 0.0)]
        tests.append(verdict_on_x(Aspect.VALUES, 0.0, (1000 - right) / 100))
        *_, last = gated([*tests, verdict_on_x(Aspect.NUMERICS, 1.0, 1.0, "a note")])
        first, _, remark = last.message.partition("\n")
        assert (first, words in remark) == ("a note", True)


def test_counted_points_add_up_exactly_for_many_small_tests():
    """Many small tests lose no more to rounding than one large test."""
    for chance in random_generators():
        worth = [chance.randint(0, 9) for _ in range(chance.randint(0, 30))]
        possible = chance.randint(1, 50)
        right = chance.randint(0, possible)
        gate = Gate()
        gate.add_values(right, possible, right == possible)
        counted = [gate.counted(earned) for earned in worth]
        assert sum(counted) == sum(worth) * right // possible == gate.counted_of(sum(worth))
        assert all(0 <= part <= earned for part, earned in zip(counted, worth, strict=True))


def test_wrong_values_of_one_exercise_cost_nothing_in_another():
    wrong = verdict_on_x(Aspect.VALUES, 0.0)
    right = wrong._replace(exercise="run_y", status=Status.PASSED, score=1.0)
    others = [one._replace(aspect=Aspect.GRADIENTS, status=Status.PASSED) for one in (wrong, right)]
    found = [*gated([wrong, others[0]._replace(score=1.0), right, others[1]])]
    assert [verdict.score for verdict in found] == [0.0, 0.0, 1.0, 1.0]


def test_each_verdict_is_final_before_the_next_is_known():
    """A reader who follows the grading sees a verdict before the next one is known."""
    reached = itertools.count()

    def verdicts():
        for verdict in (verdict_on_x(Aspect.VALUES, 0.0), verdict_on_x(Aspect.GENERALITY, 1.0)):
            next(reached)
            yield verdict

    stream = gated(verdicts())
    assert (next(stream).score, next(reached)) == (0.0, 1)


def test_points_are_rounded_to_the_nearest_hundredth():
    """Stored scores with rounding errors become the hundredths that were meant."""
    assert [hundredths(points) for points in (10.000003, 5.999998, 0.29, 1.005)] == [
        1000, 600, 29, 100,
    ]  # fmt: skip


def test_an_exercise_stands_after_those_that_it_builds_on():
    """Apart from that, the author's order is kept."""
    points = {"run_a": 1.0, "run_b": 2.0, "run_c": 3.0, "run_d": 4.0}
    builds_on = {"run_a": ("run_c",), "run_c": ("run_d",), "run_b": ("run_a",)}
    ordered = in_building_order(points, builds_on)
    assert ordered == points
    assert [*ordered] == ["run_d", "run_c", "run_a", "run_b"]
    assert [*in_building_order(points, {})] == [*points]
