"""The differences between two batches: their reasons, their counts, and the page of them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from grader.core.verdict import Diagnosis, Grade, GradeStatus, Status, Verdict
from grader.reports.pages.changes import Changes, changes_page
from grader.reports.pages.class_data import Graded
from tests.harness.export_fixtures import a_grade, a_verdict, not_graded

pytestmark = pytest.mark.unit

HALF = Diagnosis("half", "It is half.", "Why?")


def failed(message: str = "4 of 6 are wrong", score: float = 0.0, **fields: object) -> Verdict:
    return a_verdict("run_x", score, status=Status.FAILED, message=message, **fields)


PASSED = a_verdict("run_x")
ERROR = failed("ValueError: no\nmore")._replace(status=Status.ERROR)


def compared(*pairs: tuple[Grade | None, Grade]) -> Changes:
    changes = Changes()
    for before, after in pairs:
        changes.add(Graded.of(after), before)
    return changes


@pytest.mark.parametrize(
    ("before", "after", "reasons"),
    [
        (PASSED, PASSED, ()),
        (failed(), failed("5 of 6 are wrong"), ()),
        (failed(), PASSED, ("failed → passed",)),
        (PASSED, failed(), ("passed → failed: 4 of 6 are wrong",)),
        (PASSED, ERROR, ("passed → error: ValueError: no",)),
        (PASSED, failed(diagnosis=HALF), ("passed → failed: It is half. [half]",)),
        (failed(), failed(diagnosis=HALF), ()),
        (PASSED, PASSED._replace(score=6.0, max_score=6.0), ("worth 4 → 6 points",)),
        (PASSED, PASSED._replace(score=3.0), ("4 → 3 points",)),
        (failed(), failed(score=1.0), ("0 → 1 points: 4 of 6 are wrong",)),
        (failed(), failed(max_score=6.0), ()),
        (None, PASSED, ("a new test: passed",)),
    ],
)
def test_each_change_of_points_is_told_with_its_reason(
    before: Verdict | None, after: Verdict, reasons: tuple[str, ...]
):
    """Another message or mistake changes no points."""
    earlier = a_grade("ann", *[before] if before else [])
    found = compared((earlier, a_grade("ann", after)))
    told = [each.reasons for one in (*found.up, *found.down) for each in one.exercises]
    assert told == ([reasons] if reasons else [])


def test_an_exercise_that_lost_its_tests_says_so():
    """A fixed suite may have dropped them."""
    later = a_grade("ann", a_verdict("run_y", 5.0, max_score=5.0))
    found = compared((a_grade("ann", PASSED), later))
    (up,) = found.up
    assert [(one.exercise, one.before, one.after, one.reasons) for one in up.exercises] == [
        ("run_x", 4.0, 0.0, ("it has other tests than before",)),
        ("run_y", 0.0, 5.0, ("a new test: passed",)),
    ]
    assert found.exercises == {"run_x": {"down": 1}, "run_y": {"up": 1}}


def test_equal_reasons_are_counted_and_three_are_told():
    """The commonest comes first."""
    tests = [failed(f"{word} fails", id=f"t.py::{word}") for word in "abcde"]
    tests += [failed("e fails", id="t.py::f")]
    before = [test._replace(status=Status.PASSED, score=4.0, message=None) for test in tests]
    (down,) = compared((a_grade("ann", *before), a_grade("ann", *tests))).down
    assert down.exercises[0].reasons == (
        "passed → failed: e fails (2 tests)",
        "passed → failed: a fails",
        "passed → failed: b fails",
        "and 2 other reasons",
    )
    assert down.difference == -24.0
    (down,) = compared((a_grade("ann", *before[:4]), a_grade("ann", *tests[:4]))).down
    assert down.exercises[0].reasons[3:] == ("and 1 other reason",)
    (down,) = compared((a_grade("ann", *before[:3]), a_grade("ann", *tests[:3]))).down
    assert len(down.exercises[0].reasons) == 3


UNREADABLE = a_grade("ann", status=GradeStatus.UNREADABLE, message="no file\nat all")


@pytest.mark.parametrize(
    ("before", "after", "kind", "reason"),
    [
        (None, a_grade("ann", PASSED), "new", ""),
        (a_grade("ann", PASSED), a_grade("ann", PASSED), "same", None),
        (a_grade("ann", failed()), a_grade("ann", PASSED), "up", ""),
        (a_grade("ann", PASSED), a_grade("ann", failed()), "down", ""),
        (a_grade("ann", failed()), a_grade("ann", ERROR), "same", None),
        (not_graded("ann"), not_graded("ann"), "same", None),
        (not_graded("ann"), a_grade("ann", PASSED), "regraded", "not graded → graded"),
        (
            a_grade("ann", PASSED),
            not_graded("ann"),
            "regraded",
            "graded → not graded: the judge was lost twice",
        ),
        (a_grade("ann"), UNREADABLE, "same", None),
        (a_grade("ann", PASSED), UNREADABLE, "down", "graded → unreadable: no file"),
        (UNREADABLE, replace(UNREADABLE, message="other"), "same", None),
    ],
)
def test_each_submission_is_in_one_list_of_changes(
    before: Grade | None, after: Grade, kind: str, reason: str | None
):
    """Only submissions with a score in both batches go up or down."""
    found = compared((before, after))
    kinds = ("new", "up", "down", "regraded")
    lists = {name: getattr(found, name) for name in kinds}
    assert {name: len(told) for name, told in lists.items() if told} == (
        {} if kind == "same" else {kind: 1}
    )
    assert found.same == (kind == "same")
    if reason is not None:
        assert lists[kind][0].reason == reason


def test_exercises_of_a_submission_without_a_score_go_neither_up_nor_down():
    """A lost machine would look like a class that got worse."""
    found = compared((a_grade("ann", PASSED), not_graded("ann")), (not_graded("bob"), UNREADABLE))
    assert found.exercises == {}


def test_the_page_of_changes_lists_the_greatest_first():
    """An exercise's changes are counted for the whole class."""
    other = PASSED._replace(id="t.py::other", exercise="run_y", score=1.0, max_score=1.0)
    lost = other._replace(status=Status.MISSING, score=0.0)
    found = compared(
        (a_grade("ann", failed(), other), a_grade("ann", PASSED, lost)),
        (a_grade("bob", failed(), other), a_grade("bob", PASSED, other)),
        (a_grade("cem", PASSED, other), a_grade("cem", failed(), other)),
        (a_grade("dan", PASSED, other), a_grade("dan", failed(), lost)),
        (None, a_grade("eva", PASSED)),
    )
    found.add_gone(["fay"])
    page = changes_page("attention", found)
    figures = dict(re.findall("<div><dt>(.*?)</dt><dd>(.*?)</dd></div>", page))
    assert figures == {
        "went up": "2",
        "went down": "2",
        "same score": "0",
        "new": "1",
        "only in the earlier batch": "1",
    }
    listed = re.findall(r'<h3><a href="submissions/.*?">(.*?)</a>', page)
    assert listed == ["dan", "cem", "bob", "ann", "eva"]
    assert re.findall('<b class="(?:up|down)">(.*?)</b>', page) == ["−5", "−4", "+4", "+3"]
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', page)
    cells = [(name, *re.findall("<td.*?>(.*?)</td>", rest)) for name, rest in rows]
    assert cells == [
        ("run_x", "2", "2"),
        ("run_y", "0", "2"),
    ]
