"""`grader verify --seeds`: no score of a known function depends on the seed."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from grader.authoring.forked_tasks import DIED
from grader.authoring.seeds import SeedResult, Steadiness, Subject, steadiness
from grader.core.assignment import find_assignment
from tests.harness.conftest import ROOT, TINY, write_files
from tests.harness.marks import rest_slow
from tests.harness.own_course import imported_alone

pytestmark = pytest.mark.process

SEEDS = 6
FEED_FORWARD, ATTENTION, LANGUAGE_MODEL = "examples/feed_forward", ".", "examples/language_model"
# All exercises of a quick assignment, two of another one, then each exercise by itself.
EXERCISES = [
    (FEED_FORWARD, (*find_assignment(ROOT / FEED_FORWARD).points,)),
    (ATTENTION, ("run_softmax", "run_rope")),
    *(
        (assignment, (name,))
        for assignment in (ATTENTION, LANGUAGE_MODEL)
        for name in find_assignment(ROOT / assignment).points
    ),
]
# This function is right for numbers that are not negative, which one draw gives with some seeds
# only.
UNSIGNED = """
MISTAKES = (
    *MISTAKES,
    Mistake("unsigned", "The sign is lost.", "What is twice -1?",
            {"run_double": (lambda x: 2 * x.abs(),)}),
)
"""
ONE_NUMBER = """
    from grader.testing import assert_matches, exercise

    @exercise("run_double")
    def test_doubles(student, reference, draw):
        '''A number is doubled.'''
        x = draw(1)
        assert_matches(student(x), reference(x))

    @exercise("run_count")
    def test_counts(student, reference, draw):
        '''The numbers are counted.'''
        x = draw(2, 3)
        assert_matches(student(x), reference(x))
"""


@pytest.fixture
def unsteady(tmp_path) -> Path:
    """An assignment whose one test of `run_double` draws one number."""
    files = {name: text for name, text in TINY.items() if "hidden" not in name}
    files["solutions/mistakes.py"] = textwrap.dedent(TINY["solutions/mistakes.py"]) + UNSIGNED
    return write_files(tmp_path / "unsteady", files | {"tests/public/test_tiny.py": ONE_NUMBER})


def test_verify_reports_that_no_score_depends_on_the_seed(grader, tiny):
    """References pass and mistakes are caught, with the same score under all seeds."""
    done = grader("verify", "--seeds", SEEDS, "--assignment", tiny)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{SEEDS} seeds: " in done.stdout
    assert "0 with points lost" in done.stdout
    assert "0 not always caught, 0 with a score that depends on the seed" in done.stdout


def test_verify_reports_mistakes_that_only_some_seeds_catch(grader, unsteady):
    """The output has the mistake, the exercise, the test and the number of seeds."""
    done = grader("verify", "--seeds", SEEDS, "--assignment", unsteady)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "unsigned, way 1, in run_double passes every test with " in done.stdout
    assert f"of {SEEDS} seeds (" in done.stdout
    assert "tests/public/test_tiny.py::test_doubles with " in done.stdout
    assert "1 not always caught" in done.stdout


def test_verify_refuses_seeds_together_with_edits(grader, tiny):
    """The two options answer different questions."""
    done = grader("verify", "--seeds", SEEDS, "--edits", "--assignment", tiny)
    assert done.returncode == 2
    assert "give one of them" in done.stderr


@pytest.mark.parametrize(
    ("assignment", "exercises"),
    rest_slow(EXERCISES, EXERCISES[:2], rows=True),
    ids=lambda value: value if isinstance(value, str) else " and ".join(value[:2]),
)
def test_no_score_of_the_bundled_assignments_depends_on_the_seed(grader, assignment, exercises):
    """Right functions pass, and a wrong one gets the same points under two fixed seeds."""
    asked = (word for name in exercises for word in ("--exercise", name))
    done = grader("verify", "--seeds", 2, "--jobs", 2, *asked, "--assignment", ROOT / assignment)
    assert done.returncode == 0, done.stdout + done.stderr


RIGHT = Subject("the reference", "run_double", True, {})
WRONG = Subject("tripled, way 1,", "run_double", False, {})
PASSED, FAILED = SeedResult(4.0, (), ("a", "b")), SeedResult(0.0, ("a",), ())
PARTLY = SeedResult(2.0, ("b",), ("a",))


@pytest.mark.unit
@pytest.mark.parametrize(
    ("came", "problems", "lines", "counts"),
    [
        ([(RIGHT, (PASSED, PASSED)), (WRONG, (FAILED, FAILED))], (), [], (1, 0, 1, 0, 0)),
        (
            [(RIGHT, (PASSED, PARTLY))],
            (),
            ["the reference fails b with 1 of 2 seeds (50%)"],
            (1, 1, 0, 0, 0),
        ),
        (
            [(WRONG, (FAILED, PASSED, PARTLY, PASSED))],
            (),
            [
                "tripled, way 1, in run_double passes every test with 2 of 4 seeds (50%)",
                "tripled, way 1, in run_double gets 0 to 4 points; it fails",
                "    a with 1 of 4 seeds (25%)",
                "    b with 1 of 3 seeds (33%)",
            ],
            (0, 0, 1, 1, 1),
        ),
        (
            [(WRONG, (FAILED, PARTLY))],
            (),
            [
                "tripled, way 1, in run_double gets 0 to 2 points; it fails",
                "    a with 1 of 2 seeds (50%)",
            ],
            (0, 0, 1, 0, 1),
        ),
        ([(RIGHT, (PASSED,))], ("run_count was not tried",), ["run_count was not tried"],
         (1, 0, 0, 0, 0)),
    ],
    ids=["steady", "unjust", "uncaught", "varying", "problem"],
)  # fmt: skip
def test_results_that_depend_on_the_seed_are_told_with_their_share(came, problems, lines, counts):
    """A test that was not run under a seed does not count, nor does one that always fails."""
    found = Steadiness(tuple(came), 4, problems)
    *told, last = found.in_words()
    assert told == lines
    right, unjust, wrong, uncaught, varying = counts
    assert last == (
        f"4 seeds: {right} right functions, {unjust} with points lost; {wrong} wrong ones, "
        f"{uncaught} not always caught, {varying} with a score that depends on the seed"
    )
    assert found.holds is not bool(lines)


DEADLY = """
MISTAKES = (
    *MISTAKES,
    Mistake("deadly", "The process ends.", "Does it return?",
            {"run_count": (lambda x: __import__("os")._exit(1),)}),
)
"""


def test_a_function_is_graded_only_as_far_as_its_points_need(tmp_path):
    """Without a right value, no other test runs. A function that ends the process is a problem."""
    mistakes = textwrap.dedent(TINY["solutions/mistakes.py"]) + DEADLY
    root = write_files(tmp_path / "deadly", TINY | {"solutions/mistakes.py": mistakes})
    done: list[tuple[int, int]] = []
    with imported_alone():
        found = steadiness(find_assignment(root), 2, 1, lambda *one: done.append(one))
    assert done == [(number, 4) for number in range(1, 5)]
    assert found.problems == tuple(
        f"run_count was not tried with the seed {seed}, {DIED}" for seed in (1, 2)
    )
    came = dict(
        zip(((one.name, one.exercise) for one, _ in found.subjects), found.subjects, strict=True)
    )
    values = ("tests/public/test_tiny.py::test_doubles",)
    values += ("tests/hidden/test_tiny.py::test_doubles_any_shape[(4,)]",)
    _, results = came["tripled, way 1,", "run_double"]
    assert results == (SeedResult(0.0, values, ()),) * 2
    _, results = came["the reference", "run_double"]
    assert [(one.score, one.failed, len(one.passed)) for one in results] == [(4.0, (), 9)] * 2
    assert not found.holds
