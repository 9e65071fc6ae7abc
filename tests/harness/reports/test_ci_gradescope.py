"""Gradescope's results: what its documentation allows, and what students may see."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import unicodedata
from typing import Any

import pytest

from grader.core.verdict import Aspect, Carried, Grade, Status, Visibility, Where
from grader.grading.judge.deductions import gated
from grader.reports.export.gradescope import (
    Display,
    VisibleWhen,
    not_graded,
    prairielearn_results,
    progress,
    results,
    total_points,
)
from tests.harness.ci_fixtures import DIAGNOSIS, hostile_grade, mixed_grade
from tests.harness.export_fixtures import a_grade, a_verdict, unreadable
from tests.harness.export_fixtures import not_graded as a_grade_that_is_none

pytestmark = pytest.mark.unit

VISIBILITIES = {"hidden", "after_due_date", "after_published", "visible"}
TOP = {
    "score", "execution_time", "output", "output_format", "test_output_format",
    "test_name_format", "visibility", "stdout_visibility", "extra_data", "tests", "leaderboard",
}  # fmt: skip
TEST = {
    "score", "max_score", "status", "name", "name_format", "number", "output", "output_format",
    "tags", "visibility", "extra_data",
}  # fmt: skip


def read(found: dict[str, Any]) -> dict[str, Any]:
    """Returns the results as Gradescope reads them, checked against its documentation's rules."""
    text = json.dumps(found, allow_nan=False)
    read = json.loads(text.encode("utf-8"))
    assert set(read) <= TOP
    assert "score" in read or all("score" in test for test in read["tests"])
    assert math.isfinite(read["score"])
    assert read["stdout_visibility"] == "hidden"
    assert read["visibility"] in VISIBILITIES
    for kind in ("output_format", "test_output_format", "test_name_format"):
        assert read[kind] == "text", "nothing is ever read as HTML or Markdown"
    for test in read["tests"]:
        assert set(test) <= TEST
        assert test["status"] in ("passed", "failed")
        assert test["visibility"] in VISIBILITIES
        assert 0 <= test["score"] <= test["max_score"]
        assert isinstance(test["number"], str)
        assert all(isinstance(tag, str) for tag in test.get("tags", []))
        assert "output_format" not in test
    for entry in read.get("leaderboard", []):
        assert set(entry) <= {"name", "value", "order"}
        assert entry["order"] in ("asc", "desc")
    return read


def shown_texts(found: dict[str, Any]) -> list[str]:
    """Returns every text that a student reads."""
    return [found["output"], *(t[part] for t in found["tests"] for part in ("name", "output"))]


def test_an_exercise_is_one_entry_in_the_order_of_the_assignment() -> None:
    """Three hundred entries would be too many to read."""
    found = read(results(mixed_grade(), Display()))
    assert [(t["number"], t["name"], t["score"], t["max_score"]) for t in found["tests"]] == [
        ("1", "run_softmax", 2.0, 2.0),
        ("2", "run_mha", 3.0, 4.5),
        ("3", "run_rope", 0.0, 2.0),
        ("4", "run_mask", 0.0, 1.5),
    ]
    assert [t["status"] for t in found["tests"]] == ["passed", "failed", "failed", "failed"]
    assert found["score"] == 5.0
    assert found["output"].startswith(
        "5 of 10 points. run_rope: halves are paired [rope-half-split]; "
        "run_mask is not implemented yet; run_mha: 2 axes were wanted (attention.py:12)"
    )


def test_an_entry_refers_to_the_exercise_that_has_its_cause() -> None:
    """The entry of the second exercise names the first, which has the cause, and its line."""
    where = Where("attention.py", 12)
    wrong = {"diagnosis": DIAGNOSIS, "where": where, "message": "4 of 6 numbers are wrong"}
    tests = [a_verdict(name, 0.0, 2.0, **wrong) for name in ("run_rope", "run_mha")]
    root, follows = read(results(a_grade("alice", *tests), Display()))["tests"]
    assert (
        "1 test of run_rope; also fails run_mha: 1 test (-4 points in 2 exercises)"
        in root["output"]
    )
    assert follows["output"] == (
        "run_rope: halves are paired [rope-half-split]\n"
        "  The same cause as in run_rope (attention.py:12): see there."
    )


def test_an_entry_names_the_failed_and_the_passed_aspects() -> None:
    """An entry has the message, the line, the mistake and its hint, not just the failure."""
    _, mha, rope, mask = read(results(mixed_grade(), Display()))["tests"]
    assert mha["output"] == (
        "run_mha: 2 axes were wanted\n  at attention.py:12\n  1 test of run_mha (-1.5 points)\n\n"
        "values passed; generality failed; 1 of 2 tests passed"
    )
    assert mha["tags"] == ["generality"]
    assert rope["output"].startswith("run_rope: halves are paired [rope-half-split]\n")
    assert "Hint: Which pairs turn together?" in rope["output"]
    assert rope["extra_data"] == {"mistakes": ["rope-half-split"]}
    assert mask["output"] == "run_mask is not implemented yet"


def test_students_see_a_total_because_nothing_is_hidden() -> None:
    """Gradescope withholds the total while any test is hidden."""
    found = read(results(mixed_grade(), Display()))
    assert {test["visibility"] for test in found["tests"]} == {"visible"}


@pytest.mark.parametrize(
    "shown", [VisibleWhen.HIDDEN, VisibleWhen.AFTER_DUE_DATE, VisibleWhen.AFTER_PUBLISHED]
)
def test_results_of_hidden_tests_can_be_kept_from_students(shown: VisibleWhen) -> None:
    """The visible entries and the text above them then concern the public tests only."""
    found = read(results(mixed_grade(), Display(hidden_tests=shown)))
    by_visibility = {v: [t for t in found["tests"] if t["visibility"] == v] for v in VISIBILITIES}
    visible = by_visibility["visible"]
    assert [(t["number"], t["name"]) for t in visible] == [
        ("1.1", "run_softmax, the tests that you have"),
        ("2.1", "run_mha, the tests that you have"),
    ]
    assert len(by_visibility[shown]) == 3
    assert visible[1]["output"] == "right; 1 of 1 tests passed"
    seen = " ".join([found["output"], *(t["output"] for t in visible)])
    assert "rope" not in seen
    assert not re.search(r"[0-9] points", seen)
    assert sum(test["score"] for test in found["tests"]) == found["score"] == 5.0


def test_no_entry_names_a_hidden_test() -> None:
    """The name of a test gives away its question."""
    texts = shown_texts(read(results(mixed_grade(), Display())))
    assert not [text for text in texts if "tests/hidden" in text or "test_deeper" in text]


def test_points_are_scaled_to_those_of_the_gradescope_assignment() -> None:
    """The instructor may give the Gradescope assignment 20 points, or 1."""
    found = read(results(mixed_grade(), Display(total=20.0)))
    assert found["score"] == 10.0
    assert sum(test["max_score"] for test in found["tests"]) == 20.0
    assert found["output"].startswith("10 of 20 points")


def test_points_in_words_are_scaled_as_the_scores_are() -> None:
    """A student reads the points of the Gradescope assignment alone, in causes and messages."""
    display = Display(total=5.0)
    wrong = a_verdict("run_rope", 0.0, 4.0, message="4 of 6 numbers are wrong")
    tests = (wrong, a_verdict("run_mha", 2.0, 6.0, message="another fault"))
    carried = (Carried("run_mha", "run_rope", "half", 4.0),)
    grade = a_grade("alice", *tests, carried=carried)
    found = read(results(grade, display))
    rope, mha = found["tests"]
    assert (rope["score"], rope["max_score"], mha["score"], mha["max_score"]) == (0, 2, 3, 3)
    assert "1 test of run_rope (-2 points)" in rope["output"]
    assert "run_mha: full marks (+2 points)" in found["output"]


def test_scaled_points_of_an_exercise_are_equal_for_all_submissions() -> None:
    """Thirds are rounded, in the same way for every submission."""
    for got in range(5):
        tests = [a_verdict(f"run_{n}", float(got >= n), 1.0) for n in range(3)]
        found = read(results(a_grade("alice", *tests), Display(total=10.0)))
        assert [test["max_score"] for test in found["tests"]] == [3.34, 3.33, 3.33]
        assert found["score"] == [3.34, 6.67, 10.0, 10.0, 10.0][got]


def test_visible_points_do_not_depend_on_hidden_tests() -> None:
    """The weight of the other aspects depends on all values.

    That weight is shown only with the hidden tests.
    """
    seen = []
    for right in (True, False):
        values = a_verdict("run_rope", 2.0, 2.0, visibility=Visibility.PUBLIC)
        hidden = a_verdict("run_rope", 2.0 * right, 2.0)
        other = values._replace(aspect=Aspect.DISCIPLINE, score=1.0, max_score=1.0)
        grade = a_grade("alice", *gated([values, hidden, other]))
        found = read(results(grade, Display(hidden_tests=VisibleWhen.HIDDEN)))
        assert found["score"] == grade.score == (5.0 if right else 2.5)
        seen.append([test for test in found["tests"] if test["visibility"] == "visible"])
    assert seen[0] == seen[1]
    assert [(test["score"], test["max_score"]) for test in seen[0]] == [(2.0, 2.0)]


def test_visible_messages_do_not_depend_on_hidden_tests() -> None:
    """Visible entries mention no cause that only hidden tests found.

    They also do not say what wrong values cost the other tests.
    """
    seen = []
    for right in (True, False):
        hidden = a_verdict("run_rope", 2.0 * right, 2.0, diagnosis=None if right else DIAGNOSIS)
        public = a_verdict(
            "run_mha", 0.0, 2.0, visibility=Visibility.PUBLIC, diagnosis=DIAGNOSIS, message="wrong"
        )
        also = a_verdict("run_mha", 2.0 * right, 2.0, message=None if right else "hidden and wrong")
        other = public._replace(
            aspect=Aspect.DISCIPLINE, status=Status.PASSED, score=1.0, max_score=1.0,
            diagnosis=None, message=None,
        )  # fmt: skip
        grade = a_grade("alice", *gated([hidden, public, also, other]))
        found = read(results(grade, Display(hidden_tests=VisibleWhen.HIDDEN)))
        seen.append([test for test in found["tests"] if test["visibility"] == "visible"])
    assert seen[0] == seen[1]


def test_results_that_students_see_first_do_not_depend_on_carried_points() -> None:
    """Points are carried if the hidden tests agree, which students would read from them."""
    seen = []
    for carried in ((), (Carried("run_mha", "run_rope", "half", 3.0),)):
        root = a_verdict("run_rope", 0.0, 2.0, visibility=Visibility.PUBLIC, diagnosis=DIAGNOSIS)
        public = a_verdict("run_mha", 0.0, 2.0, visibility=Visibility.PUBLIC, diagnosis=DIAGNOSIS)
        hidden = a_verdict("run_mha", 0.0, 1.0, diagnosis=DIAGNOSIS)
        grade = dataclasses.replace(a_grade("alice", root, public, hidden), carried=carried)
        shown = Display(total=10.0, hidden_tests=VisibleWhen.AFTER_DUE_DATE)
        found = read(results(grade, shown))
        assert found["score"] == 6.0 * len(carried)
        later = [test for test in found["tests"] if test["visibility"] == "after_due_date"]
        assert any("already deducted" in test["output"] for test in later) == bool(carried)
        visible = [test for test in found["tests"] if test["visibility"] == "visible"]
        seen.append((found["output"], visible))
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("metadata", "total"),
    [
        ('{"assignment": {"total_points": "20.0"}}', 20.0),
        ('{"assignment": {"total_points": 7}}', 7.0),
        ('{"assignment": {"total_points": "nan"}}', None),
        ('{"assignment": {"total_points": "1e999"}}', None),
        ('{"assignment": {"total_points": "0.0"}}', None),
        ('{"assignment": {"total_points": null}}', None),
        ('{"assignment": []}', None),
        ("[" * 100_000, None),
        ("", None),
    ],
)
def test_only_a_valid_total_of_the_metadata_is_used(metadata: str, total: float | None) -> None:
    """The assignment's own total is better than an invented one."""
    assert total_points(metadata) == total


def test_the_leaderboard_is_off_unless_asked_for() -> None:
    """Not every student wants to be ranked."""
    assert "leaderboard" not in read(results(mixed_grade(), Display()))
    found = read(results(mixed_grade(), Display(leaderboard=True)))
    assert found["leaderboard"] == [{"name": "points", "value": 5.0, "order": "desc"}]
    hidden = Display(hidden_tests=VisibleWhen.HIDDEN, leaderboard=True)
    assert "leaderboard" not in read(results(mixed_grade(), hidden)), "it would show the total"


def test_an_unreadable_submission_gets_a_reason_and_no_list_of_failures() -> None:
    """Fifteen entries with the same message would hide the reason."""
    found = read(results(unreadable("bob"), Display(total=20.0)))
    assert found["score"] == 0.0
    assert found["output"] == "Nothing could be graded: the zip is empty"
    assert found["tests"] == []


def test_a_grader_fault_is_never_reported_as_a_plain_zero() -> None:
    """Gradescope requires a score; the text says that this one is not a grade."""
    for found in (results(a_grade_that_is_none("bob"), Display()), not_graded("it was lost")):
        assert "NOT GRADED" in read(found)["output"]
        assert "not by yours" in found["output"]
        assert "lost" in found["output"]
    assert "leaderboard" not in results(a_grade_that_is_none("bob"), Display(leaderboard=True))


def test_an_ungraded_test_makes_the_result_no_grade() -> None:
    """The points of the other tests are shown, and named as incomplete."""
    lost = a_verdict("run_rope", 0.0, status=Status.NOT_GRADED, message="the judge's own fault")
    found = read(results(a_grade("bob", a_verdict("run_mha"), lost), Display()))
    assert found["score"] == 4.0
    assert "no grade" in found["output"]


def test_texts_of_a_submission_lose_excess_length_and_invisible_characters() -> None:
    """Control characters, text direction marks and a million letters are removed."""
    found = read(results(hostile_grade(), Display()))
    for text in shown_texts(found):
        assert len(text) < 20_000
        assert "x" * 5000 not in text
        odd = {char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Cs")}
        assert odd <= {"\n"}


def test_intermediate_results_hold_the_points_so_far() -> None:
    """If the autograder is killed, they are kept, and no test is told."""
    assert "after 0 tests" in read(progress(10.0, (), Display(total=20.0)))["output"]
    found = read(progress(10.0, mixed_grade().tests[:2], Display(total=20.0)))
    assert (found["score"], found["tests"], found["visibility"]) == (10.0, [], "visible")
    assert "cut off before it ended, after 2 tests" in found["output"]


def test_intermediate_results_are_hidden_when_hidden_tests_are() -> None:
    """Early results mix public and hidden tests. They appear when the hidden ones do."""
    found = read(progress(10.0, mixed_grade().tests, Display(hidden_tests=VisibleWhen.HIDDEN)))
    assert found["visibility"] == "hidden"


def with_visibility(grade: Grade, visibility: Visibility) -> Grade:
    tests = tuple(test._replace(visibility=visibility) for test in grade.tests)
    return dataclasses.replace(grade, tests=tests)


def test_an_assignment_without_hidden_tests_hides_nothing() -> None:
    """There is nothing to keep back, so students keep their total."""
    grade = with_visibility(mixed_grade(), Visibility.PUBLIC)
    found = read(results(grade, Display(hidden_tests=VisibleWhen.HIDDEN)))
    assert {test["visibility"] for test in found["tests"]} == {"visible"}


def test_students_are_not_pointed_to_notes_that_only_instructors_read() -> None:
    """The words "see the note" lead nowhere in a file without the note."""
    grade = dataclasses.replace(a_grade("ann", a_verdict("run_x")), notes=("left out: a.bin",))
    output = results(grade, Display())["output"]
    assert "everything right" in output
    assert "see the note" not in output
    assert prairielearn_results(grade)["message"] == "everything right"
