"""A worksheet that Moodle accepts: the instructor's own file with grades, and feedback if asked."""

from __future__ import annotations

import dataclasses
import html
from pathlib import Path
from typing import Any

import pytest

from grader.core.submission import Author
from grader.core.verdict import Grade
from grader.reports.export.scores import ExportRefused
from grader.reports.export.sheet import Sheet, harmless
from tests.harness.export_fixtures import (
    Exported,
    a_batch,
    exported,
    not_graded,
    scored,
    unreadable,
)

pytestmark = pytest.mark.unit

WORKSHEET = """\
Identifier,"Full name","Email address",Status,Grade,"Maximum grade","Grade can be changed",\
"Last modified (submission)","Last modified (grade)","Feedback comments"
"Participant 11","Jane Doe",jane@uni.example,"Submitted for grading",,10.00,Yes,"Monday, 1 June",-,
"Participant 12","Bob ""the"" Roe",bob@uni.example,"Submitted for grading",,10.00,Yes,-,-,
"Participant 13","Lara Lost",lara@uni.example,"No submission",4.50,10.00,Yes,-,-,"<p>Well tried</p>"
"""
GERMAN = """\
\ufeffID,"Vollständiger Name",E-Mail-Adresse,Status,Gruppe,Bewertung,Bestwertung,\
"Bewertung kann geändert werden","Zuletzt geändert (Abgabe)","Zuletzt geändert (Bewertung)",\
"Feedback als Kommentar"
"Teilnehmer/in11","Jane Doe",jane@uni.example,Abgegeben,"Group A",,"100,00",Ja,-,-,
"Teilnehmer/in12","Bob Roe",bob@uni.example,Abgegeben,"Group A","5,50","100,00",Nein,-,-,
"Teilnehmer/in13","Lara Lost",lara@uni.example,Abgegeben,"Group B",,"100,00",Ja,-,-,
"""
JANE, BOB, LARA = Author("Jane Doe", "11"), Author("Bob the Roe", "12"), Author("Lara Lost", "13")
CLASS = {"Jane Doe_11": [JANE], "Bob_12": [BOB], "Lara Lost_13": [LARA]}


def filled(folder: Path, worksheet: str, *grades: Grade, **choices: Any) -> Exported:
    """Exports grades into the worksheet; `CLASS` says whose submissions they are."""
    template = folder / "worksheet.csv"
    template.write_text(worksheet, encoding="utf-8", newline="")
    people = {key: choices.pop(key) for key in ("absentees", "authors") if key in choices}
    results = a_batch(folder / "results", *grades, **{"authors": CLASS} | people)
    return exported("moodle", results, template, **choices)


def test_grades_are_joined_on_the_number_in_the_identifier(tmp_path: Path) -> None:
    """The file names in Moodle's download have the same number. All other cells stay."""
    out = filled(tmp_path, WORKSHEET, scored("Jane Doe_11", 4, 3.5), scored("Bob_12", 4, 6))
    jane, bob = (f"{who}@uni.example,Submitted for grading," for who in ("jane", "bob"))
    filled_in = str(Sheet(WORKSHEET)).replace(f"{jane},", f"{jane}7.5,")
    filled_in = filled_in.replace(f"{bob},", f"{bob}10,")
    assert out.text == filled_in
    assert out.said == (
        "filled 'Grade' in 2 of 3 rows\n"
        "rows without a submission, left unchanged: 1\n  Participant 13 (Lara Lost)"
    )
    assert not out.loses


def test_points_are_scaled_to_the_maximum_grade(tmp_path: Path) -> None:
    """Moodle silently skips a grade above the maximum."""
    worksheet = WORKSHEET.replace("10.00", "5.00")
    out = filled(tmp_path, worksheet, scored("Jane Doe_11", 4, 6), scored("Bob_12", 1, 2))
    grades = out.column("Grade", "Identifier")
    assert (grades["Participant 11"], grades["Participant 12"]) == ("5", "1.5")
    assert "'Grade': the points are scaled from 10 to 5 points" in out.said


@pytest.mark.parametrize("scale", [True, False])
def test_points_above_the_maximum_are_not_written_and_reported(tmp_path: Path, scale: bool) -> None:
    """Moodle skips such a grade without a message, and its owner would have none."""
    (tmp_path / "results").mkdir()
    given = '[[points]]\nperson = "Jane Doe"\nby = 1.5\nreason = "a bug"\n'
    (tmp_path / "results/decisions.toml").write_text(given)
    grades = scored("Jane Doe_11", 4, 6), scored("Bob_12", 4, 6)
    out = filled(tmp_path, WORKSHEET, *grades, scale=scale)
    column = out.column("Grade", "Identifier")
    assert (column["Participant 11"], column["Participant 12"]) == ("", "10")
    assert "filled 'Grade' in 1 of 3 rows" in out.said
    assert "would skip, not written: 1\n  Participant 11 (Jane Doe): 11.5 of 10" in out.said
    assert out.loses


def test_a_worksheet_in_another_language_is_filled_in_as_well(tmp_path: Path) -> None:
    """Moodle accepts only the headers that it wrote, and decimal points in any language."""
    grades = scored("Jane Doe_11", 4, 1.5), scored("Lara Lost_13", 4, 6)
    out = filled(tmp_path, GERMAN, *grades, feedback=True)
    header, jane, bob, lara = out.table()
    assert out.text.splitlines()[0] == str(Sheet(GERMAN)).splitlines()[0]
    assert header[5:7] == ["Bewertung", "Bestwertung"]
    assert (jane[5], jane[-1]) == ("55", "run_mha: failed")
    assert (bob[5], lara[5]) == ("5,50", "100")
    half = filled(tmp_path, GERMAN, scored("Jane Doe_11", 4, 1.55))
    assert half.table()[1][5] == "55.5"


def test_a_locked_grade_stays_unchanged_and_is_reported(tmp_path: Path) -> None:
    """Moodle would skip such a grade without a message."""
    out = filled(tmp_path, GERMAN, scored("Bob_12", 4, 6))
    assert out.text == str(Sheet(GERMAN))
    assert "must not be changed, left unchanged: 1" in out.said
    assert "  Teilnehmer/in12 (Bob Roe): Bewertung kann geändert werden: nein" in out.said


def test_an_ungraded_submission_keeps_its_cell_and_is_reported(tmp_path: Path) -> None:
    """An unreadable submission does get 0, because its author caused it."""
    out = filled(tmp_path, WORKSHEET, not_graded("Lara Lost_13"), unreadable("Jane Doe_11"))
    grades = out.column("Grade", "Identifier")
    assert (grades["Participant 13"], grades["Participant 11"]) == ("4.50", "0")
    assert out.loses
    assert "Lara Lost (13), submission Lara Lost_13: the judge was lost twice" in out.said


def test_feedback_is_escaped_and_never_replaces_the_instructors_comment(tmp_path: Path) -> None:
    """Moodle reads a comment as HTML, and a spreadsheet may read it as a formula."""
    why = "=TypeError: <b>'<' not supported</b>"
    jane = dataclasses.replace(unreadable("Jane Doe_11"), message=why)
    grades = jane, scored("Lara Lost_13", 4, 6)
    out = filled(tmp_path, WORKSHEET, *grades, feedback=True)
    words = out.column("Feedback comments", "Identifier")
    assert words["Participant 11"] == "&#61;TypeError: &lt;b&gt;'&lt;' not supported&lt;/b&gt;"
    assert words["Participant 13"] == "<p>Well tried</p>"
    assert "had feedback already, which was kept: 1\n  Participant 13" in out.said
    without = filled(tmp_path, WORKSHEET, *grades)
    assert without.column("Feedback comments", "Identifier")["Participant 11"] == ""


@pytest.mark.parametrize("why", ["need 3 <= n", "=1", "a; = =+b", "x == y; @z", "|-"])
def test_no_feedback_is_a_formula_and_none_loses_a_character(tmp_path: Path, why: str) -> None:
    """A spreadsheet may begin a cell after a semicolon, and an entity ends in one."""
    jane = dataclasses.replace(unreadable("Jane Doe_11"), message=why)
    out = filled(tmp_path, WORKSHEET, jane, feedback=True)
    words = out.column("Feedback comments", "Identifier")["Participant 11"]
    assert html.unescape(words) == why
    assert harmless(words) == words


def test_feedback_needs_a_feedback_column(tmp_path: Path) -> None:
    """Feedback must not overwrite a column of dates."""
    lines = WORKSHEET.replace('"<p>Well tried</p>"', "").splitlines()
    worksheet = "\n".join(line.rpartition(",")[0] for line in lines) + "\n"
    with pytest.raises(ExportRefused, match="no column for feedback"):
        filled(tmp_path, worksheet, scored("Jane Doe_11", 4, 6), feedback=True)
    german = "\n".join(line.rpartition(",")[0] for line in GERMAN.splitlines()) + "\n"
    with pytest.raises(ExportRefused, match="no column for feedback"):
        filled(tmp_path, german, scored("Jane Doe_11", 4, 6), feedback=True)


def test_a_team_gives_its_points_to_every_member(tmp_path: Path) -> None:
    """Moodle's download names the team and its number, which is not a participant's number."""
    team = {"Group A_13": [Author("Group A", "13")]}
    worksheet = GERMAN.replace("Nein", "Ja")
    out = filled(tmp_path, worksheet, scored("Group A_13", 4, 6), authors=team)
    assert [row[5] for row in out.table()[1:]] == ["100", "100", ""]


def test_anonymous_participants_are_matched_by_their_numbers(tmp_path: Path) -> None:
    """In blind marking, the download and the worksheet hold nothing else."""
    worksheet = (
        "Identifier,Status,Grade,Maximum grade,Grade can be changed,Last modified (grade)\n"
        "Participant 11,Submitted,,10.00,Yes,-\nParticipant 12,Submitted,,10.00,Yes,-\n"
    )
    authors = {"Participant_12": [Author("Participant", "12")]}
    out = filled(tmp_path, worksheet, scored("Participant_12", 4, 6), authors=authors)
    assert out.column("Grade", "Identifier") == {"Participant 11": "", "Participant 12": "10"}


def test_people_of_other_platforms_are_found_by_address_and_name(tmp_path: Path) -> None:
    """Submissions from elsewhere have no participant's number."""
    authors = {"a": [Author("J. D.", "s99", "jane@uni.example")], "Lara-Lost": []}
    out = filled(tmp_path, WORKSHEET, scored("a", 4, 6), scored("Lara-Lost", 0, 6), authors=authors)
    assert [row[4] for row in out.table()[1:]] == ["10", "", "6"]


def test_the_older_header_of_the_maximum_grade_is_recognised(tmp_path: Path) -> None:
    """`Maximum Grade` is found beside the columns for workflow and marker."""
    worksheet = (
        "Identifier,Full name,Status,Marker,Grade,Maximum Grade,Marking workflow state,"
        "Grade can be changed,Last modified (submission),Last modified (grade)\n"
        "Participant 11,Jane Doe,Submitted,Dr. No,,20.00,Not marked,Yes,-,-\n"
    )
    out = filled(tmp_path, worksheet, scored("Jane Doe_11", 4, 6))
    assert out.column("Grade", "Identifier")["Participant 11"] == "20"


def test_absentees_are_blank_or_zero(tmp_path: Path) -> None:
    """A grade that is there already stays."""
    people = [Author("Jane Doe", "", "jane@uni.example"), LARA]
    assert filled(tmp_path, WORKSHEET, absentees=people).text == str(Sheet(WORKSHEET))
    zero = filled(tmp_path, WORKSHEET, absentees=people, absent_zero=True)
    assert [row[4] for row in zero.table()[1:]] == ["0", "", "4.50"]


SCALE = WORKSHEET.replace('"Maximum grade"', "Scale").replace("10.00", '"Poor, Good"')


@pytest.mark.parametrize(
    ("worksheet", "column", "words"),
    [
        (WORKSHEET.replace("Participant 12", "Bob"), None, "not a grading worksheet"),
        ("", None, "not a grading worksheet"),
        (WORKSHEET.splitlines()[0], None, "not a grading worksheet"),
        (SCALE, None, "uncertain, or grades are words of a scale.*--column.*'Scale'"),
        (WORKSHEET.replace("10.00", "Good"), None, "not graded in points: .* says 'Good'"),
        (WORKSHEET, "Mark", "no columns are called 'Mark'"),
    ],
)
def test_a_file_that_is_not_a_worksheet_with_points_is_refused(
    tmp_path: Path, worksheet: str, column: str | None, words: str
) -> None:
    """A grade in a wrong column would be lost, or would overwrite a date."""
    with pytest.raises(ExportRefused, match=words):
        filled(tmp_path, worksheet, scored("Jane Doe_11", 4, 6), column=column)


def test_the_column_of_grades_may_be_named(tmp_path: Path) -> None:
    """The option decides where a file has two columns of numbers."""
    worksheet = GERMAN.replace("Status,Gruppe", "Raum,Jahr").replace("Abgegeben", "7")
    worksheet = worksheet.replace('"Group A"', "2026").replace('"Group B"', "2026")
    with pytest.raises(ExportRefused, match="name it with --column"):
        filled(tmp_path, worksheet, scored("Jane Doe_11", 4, 6))
    out = filled(tmp_path, worksheet, scored("Jane Doe_11", 4, 6), column="Bewertung")
    assert out.table()[1][5] == "100"


def test_a_moodle_export_needs_the_worksheet(tmp_path: Path) -> None:
    """Only Moodle knows its own numbers and the language of its user."""
    with pytest.raises(ExportRefused, match="download the assignment's grading worksheet"):
        exported("moodle", a_batch(tmp_path, scored("Jane Doe_11", 4, 6)))
