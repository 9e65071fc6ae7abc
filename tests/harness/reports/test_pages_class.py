"""The data of the class's page: counts, and columns for the script."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from grader.core.points import TAKEN_OFF
from grader.core.submission import Author
from grader.core.verdict import (
    Aspect,
    Carried,
    Diagnosis,
    Grade,
    GradeStatus,
    Status,
)
from grader.reports.pages.class_data import ClassData, Graded, ProblemCount, ProblemCounts, ranked
from grader.results.decisions.settlement import ChangeKind, PointsChange, Settlement
from tests.harness.export_fixtures import A_LINE, a_grade, a_settling, a_test, a_verdict, not_graded

pytestmark = pytest.mark.unit

ANN = Author("Ann Lee", "1")
AGREED = PointsChange(ChangeKind.DECIDED, 200, None, "agreed", "decisions.toml:1")
DROPPED = PointsChange(ChangeKind.TAKEN_OUT, 0, "run_x", "taken out: bad", "decisions.toml:5")
OLD_GPU = PointsChange(ChangeKind.DECIDED, -100, "run_y", "an old GPU", "decisions.toml:9")


def settled(*people: Author, machine: int | None = 400, **fields: Any) -> Settlement:
    """Returns a settlement of 4 of 10 points, before changes."""
    late = fields.pop("late", False)
    status = GradeStatus.GRADED
    return Settlement("ann", people, status, late, machine, 1000, {}, **fields)


def an_entry(name: str, *, settlements: tuple[Settlement, ...], grade: Grade | None = None):
    found = ClassData()
    found.add(Graded.of(grade or a_grade(name, a_test("vx"))), (ANN, Author("Bo")), settlements)
    (entry,) = found.entries
    return entry


def a_class() -> ClassData:
    """Returns a class of five: one unreadable, one not graded, one with a test that others lack."""
    grades = [
        a_grade(
            "ann",
            a_test("vx", error=0.5),
            a_test("gx"),
            a_test("vy", Status.FAILED, math.inf),
            notes=("notes.pdf was left out",),
            unexplained="the worker was lost",
        ),
        a_grade(
            "bob",
            a_test("vx", error=0.25),
            a_test("gx", Status.FAILED),
            a_test("vy", Status.MISSING),
        ),
        a_grade(
            "cem",
            *(a_test(test, Status.ERROR) for test in ("vx", "gx", "vy")),
            status=GradeStatus.UNREADABLE,
            message="no file",
        ),
        not_graded("dan"),
        a_grade(
            "eva",
            a_test("vx", Status.TIMEOUT),
            a_test("hx", Status.ERROR, error=2.0, max_score=6.0),
        ),
    ]
    found = ClassData()
    for grade in grades:
        people = (ANN,) if grade.submission == "ann" else ()
        shares = () if grade.submission == "bob" else a_settling().settle(grade)
        found.add(Graded.of(grade), people, shares)
    return found


def test_a_class_is_given_to_the_script_by_columns():
    """A test that was seen later stands with its exercise."""
    found = a_class()
    columns = found.columns([ProblemCount("half", "Half is missing.", who=[1, 2])])
    assert [test for _, test, _ in found.failed_tests()] == ["vx", "gx", "hx", "vy"]
    assert columns["names"] == ["ann", "bob", "cem", "dan", "eva"]
    assert columns["statuses"] == "ggung"
    assert columns["scores"] == [8.0, 4.0, 0.0, 0.0, 0.0]
    assert columns["most"] == [12.0, 12.0, 12.0, 0.0, 10.0]
    assert columns["machine"] == columns["scores"]
    assert columns["people"] == ["Ann Lee", "", "", "", ""]
    assert columns["marks"] == [[], ["not counted"], [], [], []]
    assert columns["changed"] == [""] * 5
    assert columns["late"] == []
    assert columns["short"][2:4] == ["no file", "the judge was lost twice"]
    assert columns["phrases"][2:4] == [["no file"], ["the judge was lost twice"]]
    assert columns["kinds"] == [{"words": "Half is missing. [half]", "who": [1, 2]}]
    assert found.notes == [
        (0, "notes.pdf was left out"),
        (
            0,
            "The explanation is incomplete, which does not affect the grade: the worker was lost.",
        ),
    ]
    assert found.scores == [8.0, 0.0]
    assert {words: one.who for words, one in found.counts.others.items()} == {
        "vy went wrong": [0],
        "gx went wrong": [1],
        "missing": [1],
        "vx went wrong": [4],
        "hx went wrong": [4],
    }


def test_points_of_the_script_have_two_decimals():
    """A third of a point would have sixteen digits."""
    found, third = ClassData(), a_verdict("run_x", 1 / 3, 2 / 3)
    found.add(Graded.of(a_grade("ann", third)), (), ())
    columns = found.columns([])
    assert (columns["scores"], columns["machine"], columns["most"]) == ([0.33], [0.33], [0.67])


def test_exercises_are_counted_without_unreadable_and_ungraded_submissions():
    """Unreadable submissions have a count of their own, and no score, like one not counted."""
    one, other = a_class().exercises.values()
    assert (one.name, one.scores, one.mean, one.max_score) == ("run_x", [8.0, 0.0], 4.0, 10.0)
    assert one.standings == {"right": 1, "half": 1, "unreadable": 1, "wrong": 1}
    assert (other.name, other.scores, other.max_score) == ("run_y", [0.0], 4.0)
    assert other.standings == {"wrong": 1, "missing": 1, "unreadable": 1}
    assert ClassData().scores == []


def test_mean_points_of_exercises_add_up_to_the_mean_of_the_class():
    """Both include carried points, decisions and lateness."""
    found = ClassData()
    for name, extra in (("ann", ()), ("bob", (AGREED,)), ("cem", ())):
        back = (Carried("run_y", "run_x", "half", 1.5),) if name == "cem" else ()
        grade = a_grade(name, a_test("vx"), a_test("vy", Status.FAILED), carried=back)
        shares = a_settling().settle(grade)
        found.add(Graded.of(grade), (), [replace(o, changes=(*o.changes, *extra)) for o in shares])
    assert found.scores == [4.0, 6.0, 5.5]
    assert [one.scores for one in found.exercises.values()] == [[4.0, 6.0, 4.0], [0.0, 0.0, 1.5]]


def test_each_test_is_counted_by_the_submissions_that_fail_it():
    """Neither an unreadable submission fails one, nor one that lacks the test or the exercise."""
    found = a_class()
    assert found.failed_tests() == [
        ("run_x", "vx", 1),
        ("run_x", "gx", 1),
        ("run_x", "hx", 1),
        ("run_y", "vy", 1),
    ]
    one, other = found.suite.values()
    assert (one.name, one.tried) == ("run_x", 3)
    assert one.failed == {"t.py::vx": 1, "t.py::gx": 1, "t.py::hx": 1}
    assert (other.name, other.tried, other.failed) == ("run_y", 1, {"t.py::vy": 1})


@pytest.mark.parametrize(
    ("settlements", "expected"),
    [
        ((), {"score": 4.0, "max_score": 4.0, "machine": 4.0, "marks": ("not counted",)}),
        ((settled(ANN, machine=300),), {"score": 3.0, "machine": 3.0, "max_score": 10.0}),
        ((settled(ANN),), {"counts": True, "is_settled": False, "changed": "", "keys": (ANN,)}),
        ((settled(Author("Bo")),), {"keys": (), "late": False, "undecided": ""}),
        (
            (settled(ANN, changes=(AGREED, DROPPED), sources=frozenset({"d:1"})),),
            {"score": 6.0, "machine": 4.0, "changed": "+2 points: agreed", "is_settled": True},
        ),
        (
            (settled(ANN, changes=(AGREED, OLD_GPU)),),
            {"score": 5.0, "changed": "+2 points: agreed; −1 point in run_y: an old GPU"},
        ),
        (
            (settled(ANN, excused=True),),
            {"score": 4.0, "marks": ("excused",), "counts": False},
        ),
        (
            (settled(ANN), settled(Author("Bo", email="b@x.edu"), late=True, changes=(AGREED,))),
            {
                "score": 4.0,
                "late": True,
                "marks": ("members differ",),
                "keys": (ANN, Author("Bo", email="b@x.edu")),
            },
        ),
        (
            (settled(ANN), settled(ANN, excused=True)),
            {"marks": ("members differ",), "counts": True},
        ),
        (
            (settled(ANN, excused=True), settled(Author("Bo"), changes=(AGREED,))),
            {"score": 6.0, "marks": ("members differ",), "counts": True},
        ),
        ((settled(ANN, undecided="no time"),), {"undecided": "no time"}),
        ((settled(ANN), settled(ANN, undecided="no time")), {"undecided": "no time"}),
    ],
)
def test_an_entry_of_the_class_has_the_final_points(
    settlements: tuple[Settlement, ...], expected: dict[str, object]
):
    """Points without a decision are the tests' points. Everybody's changes are not repeated."""
    entry = an_entry("ann", settlements=settlements)
    assert {key: getattr(entry, key) for key in expected} == expected
    assert entry.called == "Ann Lee, Bo"


def test_a_grade_with_a_test_that_was_not_judged_counts_as_not_graded():
    """Its points would be too low."""
    grade = a_grade("ann", a_test("vx"), a_test("gx", Status.NOT_GRADED))
    assert an_entry("ann", settlements=(), grade=grade).status is GradeStatus.NOT_GRADED


def test_other_problems_are_counted_by_their_kind():
    """Wrong answers that differ in numbers count together, under the first one's words."""
    gradients = a_test("dx", Status.FAILED)._replace(aspect=Aspect.GRADIENTS)
    shapes = (
        a_test("gx", Status.FAILED)._replace(message=f"it has shape [{size}, 2]\nx")
        for size in "34"
    )
    counts = ProblemCounts()
    noted = a_test("vx")._replace(message="Runs on a CPU only.\nearns none of its points")
    for place, tests in enumerate(
        [
            [a_test("vx", Status.ERROR), a_test("vy", Status.ERROR)],
            [a_test("vx"), next(shapes), gradients],
            [noted, a_test("vy", Status.MISSING), noted._replace(exercise="run_a")],
            [a_test("vx", Status.CRASHED), a_test("vy", Status.MISSING)],
            [a_test("vx"), next(shapes)],
        ]
    ):
        counts.add(place, Graded.of(a_grade(f"s{place}", *tests)))
    others = counts.others.values()
    assert {one.words: (one.who, dict(one.exercises)) for one in others} == {
        "vx went wrong": ([0, 3], {"run_x": 2}),
        "vy went wrong": ([0], {"run_y": 1}),
        "it has shape [3, 2]": ([1, 4], {"run_x": 2}),
        "dx went wrong": ([1], {"run_x": 1}),
        "missing": ([2, 3], {"run_y": 2}),
    }
    found = ranked(others)
    assert [kind.words for kind in found] == [
        "it has shape [3, 2]", "missing", "vx went wrong", "dx went wrong", "vy went wrong",
    ]  # fmt: skip
    assert {words: (one.who, dict(one.exercises)) for words, one in counts.remarks.items()} == {
        "Runs on a CPU only.": ([2], {"run_a": 1, "run_x": 1}),
        "earns none of its points": ([2], {"run_a": 1, "run_x": 1}),
    }
    assert len(ranked([ProblemCount(f"kind {number}") for number in range(63)])) == 60


def test_a_note_that_costs_points_is_a_problem():
    """Other notes on passed tests are remarks."""
    costly = f"It uses sum: 50% {TAKEN_OFF}"
    counts = ProblemCounts()
    counts.add(0, Graded.of(a_grade("ann", a_test("vx")._replace(message=f"slow\n{costly}"))))
    assert {words: one.exercises for words, one in counts.others.items()} == {costly: {"run_x": 1}}
    assert [*counts.remarks] == ["slow"]


def test_an_exercise_that_a_known_mistake_fails_has_no_other_problem():
    """The mistake is counted with all exercises that it fails."""
    half = Diagnosis("half", "You take half.", "How much is twice?")
    known = a_test("vx", Status.FAILED, diagnosis=half)
    counts = ProblemCounts()
    counts.add(0, Graded.of(a_grade("ann", known, a_test("vy", Status.FAILED))))
    (mistake,) = counts.mistakes.values()
    assert (mistake.words, mistake.explanation, mistake.hint, mistake.who) == (
        "half", "You take half.", "How much is twice?", [0],
    )  # fmt: skip
    assert mistake.exercises == {"run_x": 1}
    assert mistake.label == "You take half. [half]"
    assert [(one.words, one.exercises) for one in counts.others.values()] == [
        ("vy went wrong", {"run_y": 1})
    ]


def test_two_mistakes_at_one_line_are_counted_in_their_own_exercises():
    """The line makes them one cause."""
    half, mask = (Diagnosis(one, f"It is {one}.", "Why?") for one in ("half", "mask"))
    tests = (
        a_test("vx", Status.FAILED, diagnosis=half, where=A_LINE),
        a_test("vy", Status.FAILED, diagnosis=mask, where=A_LINE),
    )
    counts = ProblemCounts()
    counts.add(0, Graded.of(a_grade("ann", *tests)))
    found = {name: one.exercises for name, one in counts.mistakes.items()}
    assert found == {"half": {"run_x": 1}, "mask": {"run_y": 1}}
