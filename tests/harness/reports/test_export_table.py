"""The grader's own CSV and JSON hold everyone's points, and no harmful text."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from grader.core.submission import Author
from grader.core.verdict import GradeStatus, Status
from tests.harness.export_fixtures import (
    AWKWARD,
    a_batch,
    a_grade,
    a_verdict,
    exported,
    not_graded,
    scored,
    unreadable,
)

pytestmark = pytest.mark.unit

JANE = Author("Jane Doe", "123", "jane@uni.example")
BOB = Author("Bob Roe", "124", "bob@uni.example")


def rows_of(text: str) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(text, newline=""), strict=True)]


def test_a_row_for_each_submission_and_a_column_for_each_exercise(tmp_path: Path) -> None:
    """An instructor opens the table in a spreadsheet; its first row holds the possible points."""
    results = a_batch(
        tmp_path, scored("alice", 4, 1 / 3), authors={"alice": [JANE]}, late=["alice"]
    )
    possible, alice = rows_of(exported("csv", results).text)
    assert [*possible] == [
        *("submission", "name", "id", "email", "status", "late", "machine", "total", "max"),
        *("run_rope", "run_mha", "what went wrong", "changes", "comments"),
    ]
    assert [*possible.values()] == [
        "Points Possible",
        *[""] * 5,
        "10",
        "10",
        "10",
        "4",
        "6",
        *[""] * 3,
    ]
    assert alice == {
        "submission": "alice",
        "name": "Jane Doe",
        "id": "123",
        "email": "jane@uni.example",
        "status": "graded",
        "late": "yes",
        "machine": "4.33",
        "total": "4.33",
        "max": "10",
        "run_rope": "4",
        "run_mha": "0.33",
        "what went wrong": "run_mha: failed",
        "changes": "",
        "comments": "",
    }


def test_a_table_of_totals_has_no_exercise_columns(tmp_path: Path) -> None:
    """`--points total`."""
    _, alice = rows_of(exported("csv", a_batch(tmp_path, scored("alice", 4, 2))).text)
    assert alice["run_mha"] == "2"
    results = a_batch(tmp_path, scored("alice", 4, 2))
    header, *_ = exported("csv", results, by_exercise=False).table()
    assert header[-5:] == ["total", "max", "what went wrong", "changes", "comments"]


def test_each_member_of_a_group_has_a_row_with_the_groups_points(tmp_path: Path) -> None:
    """A reader finds each person by name, with the submission beside it."""
    results = a_batch(tmp_path, scored("group 1", 4, 6), authors={"group 1": [JANE, BOB]})
    _, *rows = rows_of(exported("csv", results).text)
    assert [(row["submission"], row["name"], row["total"]) for row in rows] == [
        ("group 1", "Jane Doe", "10"),
        ("group 1", "Bob Roe", "10"),
    ]


def test_without_known_people_a_row_has_the_submission_name(tmp_path: Path) -> None:
    """A plain folder names only submissions."""
    _, row = rows_of(exported("csv", a_batch(tmp_path, scored("alice-jones", 4, 6))).text)
    assert (row["name"], row["id"]) == ("alice-jones", "")


def test_an_ungraded_submission_is_blank_and_reported(tmp_path: Path) -> None:
    """Zero would be an undeserved grade. An unreadable submission does get 0."""
    half = a_grade(
        "half", *scored("half", 4, 6).tests, status=GradeStatus.NOT_GRADED, message="lost"
    )
    results = a_batch(
        tmp_path, not_graded("lara"), half, unreadable("bea"), authors={"lara": [BOB]}
    )
    table = exported("csv", results)
    _, lara, half_row, bea = rows_of(table.text)
    for row in (lara, half_row):
        assert row["status"] == "not_graded"
        assert [row[key] for key in ("total", "max", "run_rope", "run_mha")] == [""] * 4
    assert [bea[key] for key in ("status", "total", "run_mha")] == ["unreadable", "0", "0"]
    assert table.loses
    assert "Bob Roe (124, bob@uni.example), submission lara: the judge was lost" in table.said
    assert "half: lost" in table.said


def test_absentees_are_listed_blank_or_with_zero(tmp_path: Path) -> None:
    """The course decides how many points an absent student gets."""
    results = a_batch(tmp_path, scored("alice", 4, 6), absentees=[BOB])
    blank, zero = exported("csv", results), exported("csv", results, absent_zero=True)
    *_, row = rows_of(blank.text)
    assert (row["submission"], row["name"], row["status"]) == ("", "Bob Roe", "absent")
    assert (row["total"], row["run_rope"]) == ("", "")
    *_, row = rows_of(zero.text)
    assert (row["total"], row["max"], row["run_rope"]) == ("0", "10", "0")
    assert "handed in nothing, left blank: 1\n  Bob Roe (124" in blank.said
    assert "handed in nothing, with 0 points: 1\n  Bob Roe (124" in zero.said
    assert not blank.loses


def test_no_untrusted_cell_starts_a_formula(tmp_path: Path) -> None:
    """Names, ids, submissions' names and messages are all quoted.

    The quotes matter because `;` separates cells in some countries.
    """
    grades = [
        a_grade(name, a_verdict("run_rope", 0, status=Status.ERROR, message=name))
        for name in AWKWARD
    ]
    authors = {name: [Author(name, name, name)] for name in AWKWARD}
    table = exported("csv", a_batch(tmp_path, *grades, authors=authors))
    _, _, *rows = table.table()
    for name, cells in zip(AWKWARD, rows, strict=True):
        guard = "'" * (name[0] in "=+-@\t")
        assert cells[:4] == [guard + name] * 4
        assert not any(cell.lstrip().startswith(("=", "+", "-", "@")) for cell in cells)
    for cell in table.text.split(";"):
        assert not cell.startswith("=")


def test_terminal_escapes_in_names_are_removed(tmp_path: Path) -> None:
    """Standard error usually is a terminal."""
    hostile = "\x1b[31mred\x1b]8;;http://evil\x07link\nsecond line"
    table = exported("csv", a_batch(tmp_path, not_graded(hostile)))
    assert "\x1b" not in table.said + table.text
    assert "  redlink second line: the judge" in table.said


def test_mixing_grades_of_two_test_versions_is_reported(tmp_path: Path) -> None:
    """A batch that stopped after its tests changed leaves grades of both versions."""
    old = a_grade("old", a_verdict("run_rope"), suite_hash="other")
    assert (
        "2 versions of the tests" in exported("csv", a_batch(tmp_path, old, scored("a", 4, 6))).said
    )


def test_the_json_document_holds_people_exercises_and_every_test(tmp_path: Path) -> None:
    """Any other program can read the well-formed document."""
    results = a_batch(
        tmp_path,
        scored("group 1", 4, 2),
        not_graded("lara"),
        authors={"group 1": [JANE, BOB]},
        late=["group 1"],
        absentees=[Author("Guy")],
    )
    document = json.loads(exported("json", results).text)
    assert [*document] == ["schema", "assignment", "absentees", "submissions"]
    assert (document["schema"], document["assignment"]) == (1, "Attention")
    assert document["absentees"] == [{"name": "Guy", "id": "", "email": ""}]
    group, lara = document["submissions"]
    assert [author["name"] for author in group["authors"]] == ["Jane Doe", "Bob Roe"]
    assert (group["late"], group["score"], group["max_score"]) == (True, 6.0, 10.0)
    assert group["exercises"]["run_mha"] == {
        "score": 2.0,
        "max_score": 6.0,
        "final": 2.0,
        "standing": "failed",
        "words": "wrong results",
    }
    assert [test["status"] for test in group["tests"]] == ["passed", "failed"]
    assert (lara["status"], lara["score"], lara["authors"]) == ("not_graded", None, [])


def test_json_and_junit_have_the_possible_points_as_the_table_has(tmp_path: Path) -> None:
    """A bonus exercise is not among them, though its points count."""
    results = a_batch(tmp_path, scored("ann", 4, 6), not_graded("lara"))
    bonus = '[[bonus]]\nexercise = "run_rope"\nreason = "not read"\n'
    (tmp_path / "decisions.toml").write_text(bonus)
    ann, lara = json.loads(exported("json", results).text)["submissions"]
    assert (ann["final"], ann["possible"], ann["max_score"]) == (10, 6, 10)
    assert (lara["final"], lara["possible"]) == (None, None)
    suites = ET.fromstring(exported("junit", results).text)
    told = [{one.get("name"): one.get("value") for one in own.iter("property")} for own in suites]
    assert [own.get("possible") for own in told] == ["6", None]
    assert exported("csv", results).column("max", "submission")["ann"] == "6"


def test_any_submission_name_survives_the_json_document(tmp_path: Path) -> None:
    """JSON can escape every character."""
    results = a_batch(tmp_path, *(scored(name, 4, 6) for name in AWKWARD))
    document = json.loads(exported("json", results).text)
    assert tuple(entry["submission"] for entry in document["submissions"]) == AWKWARD


def test_an_empty_class_gives_a_valid_document_and_table(tmp_path: Path) -> None:
    """A batch may stop before its first grade."""
    results = a_batch(tmp_path)
    assert json.loads(exported("json", results).text)["submissions"] == []
    assert len(exported("csv", results).table()) == 2
