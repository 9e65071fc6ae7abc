"""The open decisions of a class."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from grader.core.explanation import Words, WrongAnswer, WrongAnswers
from grader.core.late_rule import LateRule
from grader.core.submission import Author
from grader.core.verdict import (
    Diagnosis,
    GradeStatus,
    Status,
)
from grader.explain.mistakes.clusters import AnswerCluster
from grader.explain.mistakes.named_mistakes import FILE, NamedMistake, write_file
from grader.reports.pages.class_data import ClassData, ClassEntry, Graded
from grader.reports.pages.report import open_decisions, unnamed_clusters
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


def asked(found: ClassData, *groups: AnswerCluster, **unsure: str) -> list[tuple[Any, ...]]:
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


def a_group(*members: str) -> AnswerCluster:
    return AnswerCluster("run_x", WrongAnswers("run_x", ()), [*members])


def test_a_class_without_open_decisions_asks_for_none():
    """A class without grades needs nothing either."""
    assert asked(ClassData([entry_of("ann")])) == asked(ClassData()) == []


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


def wrong(*numbers: float, exercise: str = "run_x") -> WrongAnswers:
    answer = WrongAnswer("t.py::vx", 0, True, (len(numbers),), numbers, (1e-6, 1e-5), "x", 2)
    return WrongAnswers(exercise, (answer,), "a.py:3")


def test_only_groups_without_a_name_are_open_decisions(tmp_path: Path):
    """A submission with answers of its own is in no group."""
    answers = {"ann": (1.0, 2.0), "bob": (1.0, 2.0), "cem": (3.0, 4.0)}
    with Store.open(tmp_path, "attention") as store:
        for place, (name, numbers) in enumerate(answers.items()):
            store.add(a_grade(name, a_test("vx", Status.FAILED)), "key", place)
            store.add_words(name, Words({}, wrong=(wrong(*numbers),)))
    results = Store.read(tmp_path)
    (group,) = unnamed_clusters(results)
    assert group.members == ["ann", "bob"]
    named = NamedMistake(Diagnosis("half", "You take half.", "How much?"), wrong(1.0, 2.0))
    write_file(tmp_path / FILE, [named])
    assert unnamed_clusters(results) == []
