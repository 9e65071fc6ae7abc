"""The open decisions of a class, and its clusters of unrecognised wrong answers."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import pytest

from grader.core.evidence import Evidence, Excerpt, Picture
from grader.core.explanation import Told, Words, WrongAnswer, WrongAnswers
from grader.core.late_rule import LateRule
from grader.core.submission import Author
from grader.core.verdict import (
    Diagnosis,
    GradeStatus,
    Status,
)
from grader.explain.mistakes.clusters import FILE, NamedMistake, write_file
from grader.reports.pages.class_data import ClassData, ClassEntry
from grader.reports.pages.graded import Graded
from grader.reports.pages.open_decisions import UnknownCluster, open_decisions, unknown_clusters
from grader.results.results import Results
from grader.results.store import Store
from tests.harness.export_fixtures import a_grade, a_settling, a_test

pytestmark = pytest.mark.unit

ANN = Author("Ann Lee", "1")


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
        for one in open_decisions(found, a_settling(unsure=unsure), groups)
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
    decisions = open_decisions(found, a_settling(unsure={"bo": "two rows fit"}), ())
    # Decisions for everybody may give them points.
    assert "0 points" not in " ".join(one.advice for one in decisions)
    assert [one.alarm for one in decisions] == [True, False, False, False, False]
    assert asked(found, a_group("one", "two"), bo="two rows fit", gone="unknown") == [
        ("not-graded", 1, "NOT GRADED", {"a; b": ["lost"]}),
        (
            "contested",
            2,
            "that share an author with another",
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


def test_a_late_submission_asks_for_the_rule_or_for_its_time():
    """Where the rule is written, only the time is missing."""
    found = ClassData([entry_of("ann", undecided="marked late by the platform")])
    (ruleless,) = open_decisions(found, a_settling())
    assert ruleless.title == "late, and nothing says what that costs"
    assert "write the rule, [tool.grader.late]" in ruleless.advice
    rule = LateRule(due=datetime.datetime(2026, 10, 1, tzinfo=datetime.UTC))
    (untimed,) = open_decisions(found, a_settling(rule=rule, marked=frozenset({"ann"})))
    assert untimed.title == "late, and no time says by how much"
    assert untimed.advice.startswith("Nothing is taken off until you say when they handed in")


def test_submissions_without_a_time_are_an_open_decision_if_there_is_a_late_rule():
    """A platform that marks others as late knows the times; what does not count needs none."""
    found = ClassData([entry_of(name) for name in ("ann", "cy", "dee")])
    people = {name: (Author(name),) for name in ("ann", "cy")} | {"dee": ()}
    rule = LateRule(due=datetime.datetime(2026, 10, 1, tzinfo=datetime.UTC))
    known = {"people": people, "times": {"ann": rule.due}}
    (untimed,) = open_decisions(found, a_settling(rule=rule, **known))
    assert untimed.in_short == (
        "1 without a time, although there is a late rule",
        "grader decide RESULTS times FILE.csv",
    )
    assert [entry.name for entry, _ in untimed.about] == ["cy"]
    assert open_decisions(found, a_settling(**known)) == []
    assert open_decisions(found, a_settling(rule=rule, marked=frozenset({"ann"}), **known)) == []


def test_tests_that_may_be_faulty_are_an_open_decision():
    """The lines say why. In a terminal the next step is to see them, since no test is named."""
    found = ClassData()
    for name in ("ann", "bob", "cy", "dee", "eve"):
        tests = [a_test("vx"), a_test("gx", Status.FAILED)]
        found.add(Graded.of(a_grade(name, *tests)), (), ())
    (weak,) = open_decisions(found, a_settling())
    assert weak.in_short == (
        "1 exercise has tests that may be faulty",
        "grader report RESULTS --details",
    )
    assert weak.command == "grader decide RESULTS taken-out TEST --reason …"
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
    (weak,) = open_decisions(found, a_settling())
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
    (group,) = unknown_clusters(results, entries[1:])
    assert (group.label, group.named, group.also) == ("run_x: a.py:3?", False, ("run_y",))
    assert [entry.name for entry in group.members] == ["bob"]
    assert (group.tests, group.picture) == (("vx",), None)
    assert group.case == "for x: float32[2] the answer is a tensor of shape [2]: 1, 2"
    assert [(name, source.lines) for name, source in group.sources] == [
        ("ann", ("y = 2 * x",)),
        ("bob", ("y = 2 * x",)),
    ]
    named = NamedMistake(Diagnosis("half", "You take half.", "How much?"), wrong(1.0, 2.0))
    write_file(tmp_path / FILE, [named])
    (group,) = unknown_clusters(results, entries)
    assert (group.label, group.named, len(group.members)) == ("run_x: named half", True, 2)


def test_every_group_is_listed_also_without_a_picture(tmp_path: Path, monkeypatch):
    """The open decisions count them; only the largest groups have pictures."""
    monkeypatch.setattr("grader.reports.pages.open_decisions._MOST_PICTURES", 0)
    results, entries = stored(tmp_path, a_picture((2,), [1, 2], [2, 1]))
    (group,) = unknown_clusters(results, entries)
    assert (group.label, group.picture) == ("run_x: a.py:3?", None)
    (decision,) = open_decisions(ClassData(), a_settling(), [group])
    assert decision.count == 1


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
    (group,) = unknown_clusters(results, entries)
    assert group.picture is not None
    assert group.picture["what"] == what
    assert [[*row] for row in group.picture["got"]] == got
    numbers = [f"{one:.4g}" for one in picture.expected]
    shown = [[number for number, _ in row] for row in group.picture["expected"]]
    width = picture.shape[-1] if picture.shape else 1
    rows = [numbers[at : at + width][:8] for at in range(0, len(numbers), width)]
    assert shown == rows[:6]
    assert not any(is_wrong for row in group.picture["expected"] for _, is_wrong in row)


def test_the_smallest_picture_of_the_groups_own_tests_is_shown(tmp_path: Path):
    """A picture of another test shows another answer; one without its numbers shows none."""
    large, small = a_picture((3,), [1, 2, 3], [3, 2, 1]), a_picture((2,), [1, 2], [2, 1])
    other = Picture("t.py::gx", "the result", (), (), (1.0,), (2.0,))
    unsound = [a_picture((1,), [1], []), a_picture((0,), [], []), a_picture((3,), [1], [2])]
    results, entries = stored(tmp_path, large, small, other, *unsound)
    (group,) = unknown_clusters(results, entries)
    assert group.picture is not None
    assert group.picture["what"] == "the result, shape [2], in vx"
