"""JUnit XML: an independent reader reads it back, and CI systems find their fields in it."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from grader.core.submission import Author
from grader.core.verdict import Diagnosis, Grade, GradeStatus, Status, Where
from grader.reports.export.junit import junit_xml
from grader.results.decisions.opening import open_settling
from tests.harness.export_fixtures import (
    AWKWARD,
    a_batch,
    a_grade,
    a_verdict,
    not_graded,
    scored,
)

pytestmark = pytest.mark.unit

HOSTILE = '\x00\x1b[31m\x08 ]]> </failure> &lt; \ud83d \ufffe \x85 "quoted" é 名 😀\nsecond'


def read(*grades: Grade, name: str = "attention") -> ET.Element:
    return ET.fromstring(junit_xml(name, grades).encode("utf-8"))


def properties_of(element: ET.Element) -> dict[str, str]:
    return {p.attrib["name"]: p.attrib["value"] for p in element.findall("properties/property")}


def test_each_submission_is_a_suite_and_each_test_a_case() -> None:
    """One document holds the class. CI systems group tests by class name: it is the exercise."""
    document = read(scored("alice", 4, 6), scored("bob", 4, 2))
    assert (document.tag, document.attrib) == ("testsuites", {"name": "attention"})
    alice, bob = document
    assert alice.attrib == {
        "name": "alice",
        "errors": "0",
        "failures": "0",
        "skipped": "0",
        "tests": "2",
        "time": "1.500",
    }
    assert bob.attrib["failures"] == "1"
    case = bob.findall("testcase")[1]
    assert case.attrib == {
        "classname": "run_mha",
        "name": "tests/hidden/test_run_mha.py::test_values",
        "time": "0.250",
    }


def test_points_are_properties_of_the_suite_and_of_each_case() -> None:
    """JUnit knows only pass and fail. Points are written as pytest's `record_property` does."""
    (bob,) = read(scored("bob", 1 / 3, 6))
    found = properties_of(bob)
    assert (found["score"], found["max_score"], found["status"]) == ("6.33", "10", "graded")
    rope, _ = bob.findall("testcase")
    assert properties_of(rope) == {
        "aspect": "values",
        "visibility": "hidden",
        "score": "0.33",
        "max_score": "4",
    }


@pytest.mark.parametrize(
    ("status", "tag"),
    [
        (Status.FAILED, "failure"),
        (Status.MISSING, "failure"),
        (Status.ERROR, "error"),
        (Status.TIMEOUT, "error"),
        (Status.CRASHED, "error"),
        (Status.NOT_GRADED, "skipped"),
    ],
)
def test_each_status_becomes_a_failure_an_error_or_skipped(status: Status, tag: str) -> None:
    """A test that the grader could not judge is neither passed nor failed."""
    verdict = a_verdict("run_rope", 0, status=status, message="5 of 6 numbers\nare wrong")
    (suite,) = read(a_grade("bob", verdict))
    counted = {"failure": "failures", "error": "errors", "skipped": "skipped"}
    assert {name: suite.attrib[name] for name in counted.values()} == {
        name: str(int(other == tag)) for other, name in counted.items()
    }
    outcome = suite.find(f"testcase/{tag}")
    assert outcome is not None
    assert outcome.attrib == {"type": status, "message": "5 of 6 numbers are wrong"}
    assert outcome.text == "5 of 6 numbers\nare wrong"


def test_a_failure_tells_the_line_the_mistake_and_the_hint() -> None:
    """Some people read nothing but this text, so that all known facts are in it."""
    diagnosis = Diagnosis("rope-half-split", "It pairs halves.", "Which two make a pair?")
    where = Where("attention.py", 42, "rotated")
    verdict = a_verdict("run_rope", 0, message="wrong", diagnosis=diagnosis, where=where)
    failure = read(a_grade("bob", verdict)).find(".//failure")
    assert failure is not None
    assert failure.attrib["message"] == "run_rope: it pairs halves [rope-half-split]"
    assert failure.text == (
        "wrong\nat attention.py:42: rotated\n"
        "run_rope: it pairs halves [rope-half-split]\nHint: Which two make a pair?"
    )


def test_a_failure_with_a_shared_cause_names_the_root_exercise() -> None:
    """The failure's own message would only say that it is the same mistake."""
    root = Diagnosis("rope-half-split", "It pairs halves.", "Which two make a pair?")
    again = Diagnosis("rope-half-split", "The same mistake as in run_rope.", "Fix run_rope first.")
    tests = [
        a_verdict(name, 0, message="wrong", diagnosis=said)
        for name, said in (("run_rope", root), ("run_mha", again))
    ]
    _, follows = read(a_grade("bob", *tests)).findall(".//failure")
    assert follows.attrib["message"] == "run_rope: it pairs halves [rope-half-split]"
    assert (follows.text or "").endswith(
        "Hint: Which two make a pair?\nThe same cause as in run_rope."
    )


def test_a_note_on_a_passed_test_is_no_failure() -> None:
    """A note without cost, or a deduction by a rule, is shown as output."""
    (suite,) = read(a_grade("bob", a_verdict("run_rope", message="uses torch's own attention")))
    assert suite.attrib["failures"] == "0"
    assert suite.findtext("testcase/system-out") == "uses torch's own attention"


def test_a_submission_without_tests_is_an_error_or_skipped() -> None:
    """A suite without a case is green in every CI system."""
    empty = a_grade("broken", status=GradeStatus.UNREADABLE, message="the zip is empty")
    broken, lost = read(empty, not_graded("lost"))
    error, skipped = broken.find("testcase/error"), lost.find("testcase/skipped")
    assert error is not None
    assert error.attrib == {"type": "unreadable", "message": "the zip is empty"}
    assert properties_of(broken)["score"] == "0"
    assert skipped is not None
    assert skipped.attrib["message"] == "the judge was lost twice"
    assert "score" not in properties_of(lost)


def test_a_partly_graded_submission_has_no_score() -> None:
    """Points that may still change are not reported."""
    lost = a_verdict("run_mha", 0, status=Status.NOT_GRADED, message="lost")
    grade = a_grade("bob", a_verdict("run_rope"), lost, status=GradeStatus.NOT_GRADED)
    (suite,) = read(grade)
    assert "score" not in properties_of(suite)
    rope, mha = suite.findall("testcase")
    assert (properties_of(rope)["score"], "score" in properties_of(mha)) == ("4", False)


def test_hostile_text_stays_inside_its_xml_element() -> None:
    """Names and messages may hold anything. XML has no escape for control characters."""
    diagnosis = Diagnosis(HOSTILE, HOSTILE, HOSTILE)
    where = Where(HOSTILE, 3, HOSTILE)
    verdict = a_verdict(HOSTILE, 0, id=HOSTILE, message=HOSTILE, diagnosis=diagnosis, where=where)
    document = read(a_grade(HOSTILE, verdict, message=HOSTILE), name=HOSTILE)
    (failure,) = document.findall(".//failure")
    shown = ' ]]> </failure> &lt; \ufffd  \n "quoted" é 名 😀\nsecond'
    assert (failure.text or "").startswith(shown)
    assert document.attrib["name"] == document[0].attrib["name"] == shown


@pytest.mark.parametrize("name", AWKWARD)
def test_a_submission_name_survives_the_xml_document(name: str) -> None:
    """XML would normalise some characters; a tab becomes blanks."""
    (suite,) = read(scored(name, 4, 6))
    assert suite.attrib["name"] == name.expandtabs(4)


def test_a_suite_has_the_final_points_of_its_people(tmp_path: Path) -> None:
    """Members of a group may have different points. Without a change there are none."""
    people = Author("Jane Doe", "12"), Author("Bob Roe", "13")
    results = a_batch(
        tmp_path,
        scored("alice", 4, 2),
        scored("bea", 4, 2),
        scored("cem", 4, 2),
        scored("group", 4, 2),
        authors={"group": people},
    )
    (tmp_path / "decisions.toml").write_text(
        '[[points]]\nperson = "alice"\nby = 1\nreason = "agreed"\n'
        '[[excused]]\nperson = "bea"\n'
        '[[points]]\nperson = "Jane Doe"\nby = 2\nreason = "hers"\n'
    )
    settling = open_settling(results)
    suites = ET.fromstring(junit_xml("Attention", results.grades(), settling.settle))
    found = {suite.get("name"): properties_of(suite).get("final") for suite in suites}
    assert found == {"alice": "7", "bea": "excused", "cem": None, "group": "8 or 6"}
