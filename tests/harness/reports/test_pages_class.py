"""The data of the class's page: counts, columns for the script, open decisions, wrong answers."""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.core.evidence import Evidence, Excerpt, Picture
from grader.core.explanation import Told, Words, WrongAnswer, WrongAnswers
from grader.core.late_rule import LateRule
from grader.core.points import TAKEN_OFF
from grader.core.submission import Author
from grader.core.verdict import (
    Aspect,
    Carried,
    Diagnosis,
    Grade,
    GradeStatus,
    Measurement,
    Status,
    Verdict,
)
from grader.explain.mistakes.clusters import NamedMistake, write_names
from grader.reports.pages.class_data import ClassData, ClassEntry
from grader.reports.pages.class_needs import UnknownCluster, nameless, needs
from grader.reports.pages.graded import Graded, MistakeCounts, ProblemCount, ranked
from grader.results.decisions.settlement import ChangeKind, PointsChange, Settlement
from grader.results.results import Results
from grader.results.store import Store
from tests.harness.export_fixtures import A_LINE, a_grade, a_settling, a_verdict, not_graded

pytestmark = pytest.mark.unit

ANN = Author("Ann Lee", "1")
AGREED = PointsChange(ChangeKind.DECIDED, 200, None, "agreed", "decisions.toml:1")
DROPPED = PointsChange(ChangeKind.TAKEN_OUT, 0, "run_x", "taken out: bad", "decisions.toml:5")
OLD_GPU = PointsChange(ChangeKind.DECIDED, -100, "run_y", "an old GPU", "decisions.toml:9")


def a_test(
    test: str, status: Status = Status.PASSED, error: float | None = None, **fields: Any
) -> Verdict:
    """Returns a verdict worth 4 points; "gx" is a test of generality in run_x, "vy" of run_y."""
    measured = None if error is None else Measurement(error, error, 1e-6, 1e-5, error)
    passed = status is Status.PASSED
    return a_verdict(
        f"run_{test[-1]}",
        4.0 if passed else 0.0,
        id=f"t.py::{test}",
        aspect=Aspect.GENERALITY if test.startswith("g") else Aspect.VALUES,
        status=status,
        measurement=measured,
        message=None if passed else f"{test} went wrong",
        **fields,
    )


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
    """A test that was seen later stands with its exercise. An infinite error is -1."""
    found = a_class()
    columns = found.columns([ProblemCount("half", "Half is missing.", who=[1, 2])])
    assert columns["exercises"] == ["run_x", "run_y"]
    assert columns["tests"] == [["vx", 0], ["gx", 0], ["hx", 0], ["vy", 1]]
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
    assert columns["spreads"] == [
        [0, [0, 0, 0, 0, 2, 0, 0, 0, 0, 0], 0.5, None],
        [3, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1], None, -1.0],
        [2, [0] * 10, None, None],
    ]
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
        "values passed; generality failed: gx went wrong": [1],
        "missing": [1],
        "no answer in time": [4],
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
    """An unreadable submission fails no test, nor does one that does not have the test."""
    found = a_class()
    assert found.failed_tests() == [
        ("run_x", "vx", 1),
        ("run_x", "gx", 1),
        ("run_x", "hx", 1),
        ("run_y", "vy", 2),
    ]
    one, other = found.exercise_tests()
    assert (one.name, one.tried) == ("run_x", 3)
    assert one.passed == {
        "t.py::vx": [True, True, False],
        "t.py::gx": [True, False, True],
        "t.py::hx": [True, True, False],
    }
    assert (other.name, other.tried, other.passed) == ("run_y", 1, {"t.py::vy": [False]})


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
    """Wrong answers count by their headline without numbers, after one failed aspect."""
    gradients = a_test("dx", Status.FAILED)._replace(aspect=Aspect.GRADIENTS)
    shapes = (
        a_test("gx", Status.FAILED)._replace(message=f"it has shape [{size}, 2]\nx")
        for size in "34"
    )
    counts = MistakeCounts()
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
    assert {words: (one.who, dict(one.exercises)) for words, one in counts.others.items()} == {
        "error vx went wrong": ([0], {"run_x": 1}),
        "error vy went wrong": ([0], {"run_y": 1}),
        "values passed; generality failed: it has shape …": ([1, 4], {"run_x": 2}),
        "missing": ([2, 3], {"run_y": 2}),
        "crashed": ([3], {"run_x": 1}),
    }
    found, more = ranked(counts.others.values())
    assert [kind.words for kind in found] == [
        "missing", "values passed; generality failed: it has shape …", "crashed",
        "error vx went wrong", "error vy went wrong",
    ]  # fmt: skip
    assert more == 0
    assert {words: (one.who, dict(one.exercises)) for words, one in counts.remarks.items()} == {
        "Runs on a CPU only.": ([2], {"run_a": 1, "run_x": 1}),
        "earns none of its points": ([2], {"run_a": 1, "run_x": 1}),
    }
    assert ranked([ProblemCount(f"kind {number}") for number in range(63)])[1] == 3


def test_a_note_that_costs_points_is_a_problem():
    """Other notes on passed tests are remarks."""
    costly = f"It uses sum: 50% {TAKEN_OFF}"
    counts = MistakeCounts()
    counts.add(0, Graded.of(a_grade("ann", a_test("vx")._replace(message=f"slow\n{costly}"))))
    assert {words: one.exercises for words, one in counts.others.items()} == {costly: {"run_x": 1}}
    assert [*counts.remarks] == ["slow"]


def test_an_exercise_that_a_known_mistake_fails_has_no_other_problem():
    """The mistake is counted with all exercises that it fails."""
    half = Diagnosis("half", "You take half.", "How much is twice?")
    known = a_test("vx", Status.FAILED, diagnosis=half)
    counts = MistakeCounts()
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
    counts = MistakeCounts()
    counts.add(0, Graded.of(a_grade("ann", *tests)))
    found = {name: one.exercises for name, one in counts.mistakes.items()}
    assert found == {"half": {"run_x": 1}, "mask": {"run_y": 1}}


def entry_of(name: str, **fields: Any) -> ClassEntry:
    told: dict[str, Any] = {
        "submission": name, "name": name, "page": "", "status": GradeStatus.GRADED, "score": 1.0,
        "max_score": 2.0, "short": "", "phrases": ("a", "b"), "people": "", "late": False,
    }  # fmt: skip
    return ClassEntry(**told | fields)


def asked(found: ClassData, *groups: UnknownCluster, **unsure: str) -> list[tuple[Any, ...]]:
    """Returns the key, count, title and subjects of each open decision."""
    return [
        (
            one.key,
            one.count,
            one.title,
            {words: [entry.name for entry in about] for words, about in one.by_words.items()},
        )
        for one in needs(found, a_settling(unsure=unsure), groups)
    ]


def a_group(*members: str, named: bool = False) -> UnknownCluster:
    entries = tuple(entry_of(name) for name in members)
    return UnknownCluster("a1", "run_x: why?", named, (), entries, (), "", None, ())


def test_a_class_without_open_decisions_asks_for_none():
    """Groups that are named, or of nobody in this report, need nothing."""
    assert asked(ClassData([entry_of("ann")]), a_group("ann", named=True), a_group()) == []


def test_every_open_decision_names_its_submissions():
    """The most urgent comes first; who is settled or does not count needs no decision."""
    lost, unreadable = GradeStatus.NOT_GRADED, GradeStatus.UNREADABLE
    found = ClassData(
        [
            entry_of("lost", status=lost),
            entry_of("taken", status=lost, counts=False),
            entry_of("one", keys=(ANN,), people="Ann Lee"),
            entry_of("two", keys=(ANN,), people="Ann Lee"),
            entry_of("old", keys=(ANN,), counts=False),
            entry_of("bo", keys=(Author("Bo", "2"),)),
            entry_of("late", undecided="no rule"),
            entry_of("later", undecided="no rule"),
            entry_of("broken", status=unreadable),
            entry_of("decided", status=unreadable, is_settled=True),
        ]
    )
    open_decisions = needs(found, a_settling(unsure={"bo": "two rows fit"}), ())
    assert [one.alarm for one in open_decisions] == [True, False, False, False, False]
    assert asked(found, a_group("one", "two"), bo="two rows fit", gone="unknown") == [
        ("not-graded", 1, "NOT GRADED", {"a; b": ["lost"]}),
        (
            "contested",
            2,
            "in one person’s name with others",
            {"Ann Lee: also two": ["one"], "Ann Lee: also one": ["two"]},
        ),
        ("unsure", 1, "of an uncertain author", {"two rows fit": ["bo"]}),
        (
            "late",
            2,
            "late, and nothing says what that costs",
            {"no rule": ["late", "later"]},
        ),
        ("unreadable", 1, "unreadable", {"a; b": ["broken"]}),
        (
            "groups",
            1,
            "group of students made the same unrecognised mistake",
            {"and 1 more in run_x: why?": ["one"]},
        ),
    ]
    (*_, groups) = asked(found, a_group("one", "two"), a_group("two", "bo", "lost"))
    assert groups[1:3] == (2, "groups of students made the same unrecognised mistake")
    assert groups[3] == {"and 1 more in run_x: why?": ["one"], "and 2 more in run_x: why?": ["two"]}


def test_submissions_without_a_time_are_an_open_decision_if_there_is_a_late_rule():
    """Lateness that the platform marked is known, and nothing is due for what does not count."""
    found = ClassData([entry_of(name) for name in ("ann", "bob", "cy", "dee")])
    people = {name: (Author(name),) for name in ("ann", "bob", "cy")} | {"dee": ()}
    rule = LateRule(due=datetime.datetime(2026, 10, 1, tzinfo=datetime.UTC))
    known = {"people": people, "times": {"ann": rule.due}, "marked": frozenset({"bob"})}
    (untimed,) = needs(found, a_settling(rule=rule, **known))
    assert untimed.in_short == (
        "1 without a time, although there is a late rule",
        "grader decide RESULTS times FILE.csv",
    )
    assert [entry.name for entry, _ in untimed.about] == ["cy"]
    assert needs(found, a_settling(**known)) == []


def test_tests_that_may_be_faulty_are_an_open_decision():
    """The lines say why."""
    found = ClassData()
    for name in ("ann", "bob", "cy", "dee", "eve"):
        tests = [a_test("vx"), a_test("gx", Status.FAILED)]
        found.add(Graded.of(a_grade(name, *tests)), (), ())
    (weak,) = needs(found, a_settling())
    assert weak.in_short == (
        "1 exercise has tests that may be faulty",
        "grader decide RESULTS taken-out TEST --reason …",
    )
    assert weak.lines == (
        "run_x: gx fails 5 submissions that pass all other tests of the exercise",
    )
    found = ClassData()
    for name in ("ann", "bob", "cy", "dee", "eve"):
        tests = [
            a_test(f"{kind}{exercise}", Status.PASSED if kind == "v" else Status.FAILED)
            for exercise in "xy"
            for kind in "vg"
        ]
        found.add(Graded.of(a_grade(name, *tests)), (), ())
    (weak,) = needs(found, a_settling())
    assert weak.in_short[0] == "2 exercises have tests that may be faulty"


def wrong(*numbers: float, test: str = "t.py::vx", exercise: str = "run_x") -> WrongAnswers:
    answer = WrongAnswer(test, 0, True, (len(numbers),), numbers, (1e-6, 1e-5), "x: float32[2]", 2)
    return WrongAnswers(exercise, (answer,), "a.py:3", Excerpt("a.py", 3, ("y = 2 * x",)))


def stored(folder: Path, *pictures: Picture) -> tuple[Results, list[ClassEntry]]:
    """Stores a class in which two submissions answer alike in two exercises, and one alone."""
    answers = {"ann": (1.0, 2.0), "bob": (1.0, 2.0), "cem": (3.0, 4.0)}
    entries = []
    with Store.open(folder, "attention") as store:
        for place, (name, numbers) in enumerate(answers.items()):
            grade = a_grade(name, a_test("vx", Status.FAILED), a_test("vy", Status.FAILED))
            store.add(grade, "key", place)
            told = {test.id: Told("wrong", None, None, None) for test in grade.tests}
            own = (wrong(*numbers), wrong(*numbers, test="t.py::vy", exercise="run_y"))
            evidence = Evidence(pictures) if name == "ann" else Evidence()
            store.add_words(name, Words(told, evidence=evidence, wrong=own))
            entries.append(entry_of(name))
    return Store.read(folder), entries


def test_submissions_that_answer_alike_are_one_group_of_the_page(tmp_path: Path):
    """A submission with answers of its own is in no group. A name replaces the suspicion."""
    results, entries = stored(tmp_path)
    (group,) = nameless(results, entries[1:])
    assert (group.said, group.named, group.also) == ("run_x: a.py:3?", False, ("run_y",))
    assert [entry.name for entry in group.members] == ["bob"]
    assert (group.tests, group.picture) == (("vx",), None)
    assert group.case == "for x: float32[2] the answer is [2]: 1, 2"
    assert [(name, source.lines) for name, source in group.sources] == [
        ("ann", ("y = 2 * x",)),
        ("bob", ("y = 2 * x",)),
    ]
    named = NamedMistake(Diagnosis("half", "You take half.", "How much?"), wrong(1.0, 2.0))
    write_names(tmp_path, [named])
    (group,) = nameless(results, entries)
    assert (group.said, group.named, len(group.members)) == ("run_x: named half", True, 2)


NAN, INF = math.nan, math.inf


def a_picture(shape: tuple[int, ...], expected: list[float], got: list[float]) -> Picture:
    axes = ("",) * len(shape)
    return Picture("t.py::vx", "the result", axes, shape, tuple(expected), tuple(got))


@pytest.mark.parametrize(
    ("picture", "what", "got"),
    [
        (
            a_picture((2, 2), [1, 100, 100, 0], [1, 100.05, 100.2, 0.0005]),
            "the result, shape [2, 2], in vx",
            [[("1", False), ("100", False)], [("100.2", True), ("0.0005", False)]],
        ),
        (
            a_picture((5,), [0, NAN, 5, INF, NAN], [0.002, 1, INF, INF, NAN]),
            "the result, shape [5], in vx",
            [[("0.002", True), ("1", True), ("inf", True), ("inf", False), ("nan", False)]],
        ),
        (a_picture((), [1.0], [3.0]), "the result, shape [], in vx", [[("3", True)]]),
        (
            a_picture((7, 10), [*range(70)], [*range(70)]),
            "the result, shape [7, 10], in vx",
            [[(str(10 * row + column), False) for column in range(8)] for row in range(6)],
        ),
    ],
)
def test_the_first_values_of_a_wrong_answer_are_shown_beside_the_expected(
    tmp_path: Path, picture: Picture, what: str, got: list[list[tuple[str, bool]]]
):
    """Six rows and eight columns fit. Values within a thousandth are the same."""
    results, entries = stored(tmp_path, picture)
    (group,) = nameless(results, entries)
    assert group.picture is not None
    assert group.picture.what == what
    assert [[*row] for row in group.picture.got] == got
    numbers = [f"{one:.4g}" for one in picture.expected]
    shown = [[number for number, _ in row] for row in group.picture.expected]
    width = picture.shape[-1] if picture.shape else 1
    rows = [numbers[at : at + width][:8] for at in range(0, len(numbers), width)]
    assert shown == rows[:6]
    assert not any(is_wrong for row in group.picture.expected for _, is_wrong in row)


def test_the_smallest_picture_of_the_groups_own_tests_is_shown(tmp_path: Path):
    """A picture of another test shows another answer."""
    large, small = a_picture((3,), [1, 2, 3], [3, 2, 1]), a_picture((2,), [1, 2], [2, 1])
    other = Picture("t.py::gx", "the result", (), (), (1.0,), (2.0,))
    results, entries = stored(tmp_path, large, small, other)
    (group,) = nameless(results, entries)
    assert group.picture is not None
    assert group.picture.what == "the result, shape [2], in vx"
