"""A gradebook that Canvas accepts: the instructor's own file, with one column filled in."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.core.submission import Author
from grader.reports.export.scores import ExportRefused
from grader.reports.export.sheet import Sheet
from tests.harness.export_fixtures import (
    Exported,
    a_batch,
    exported,
    not_graded,
    scored,
    unreadable,
)

pytestmark = pytest.mark.unit

COLUMN = "Attention (87568490)"
GRADEBOOK = f"""\
Student,ID,SIS User ID,SIS Login ID,Section,Quiz 1 (12),{COLUMN},Current Score,Final Grade
    Points Possible,,,,,5,10,(read only),(read only)
"Doe, Jane",123,s1,jdoe,"S ""A"", 1",3,,80.00,B
"Roe, Bob",124,s2,bob@uni.example,B,4,-,,
"Lost, Lara",125,s3,lara,B,,6.5,,
"Student, Test",199,,,,,,,
"""
JANE, BOB, LARA = Author("doejane", "123"), Author("Bob", "", "bob@uni.example"), Author("x", "s3")
CLASS = {"doejane_123": [JANE], "bob": [BOB]}


def filled(folder: Path, gradebook: str, *grades: object, **choices: object) -> Exported:
    """Exports grades into the gradebook; `CLASS` says whose submissions they are."""
    template = folder / "gradebook.csv"
    template.write_text(gradebook, encoding="utf-8", newline="")
    people = {key: choices.pop(key) for key in ("absentees", "authors") if key in choices}
    results = a_batch(folder / "results", *grades, **{"authors": CLASS} | people)
    return exported("canvas", results, template, **choices)


def changed_cells(before: str, after: str) -> list[tuple[str, str]]:
    """Returns the lines that differ, before and after, without needless quotes."""
    before = str(Sheet(before))
    lines = zip(before.splitlines(keepends=True), after.splitlines(keepends=True), strict=True)
    return [(old, new) for old, new in lines if old != new]


def test_only_the_assignments_column_is_filled_in(tmp_path: Path) -> None:
    """Ids, other grades, quotes and blanks stay as the instructor has them."""
    out = filled(tmp_path, GRADEBOOK, scored("doejane_123", 4, 3.5), scored("bob", 4, 6))
    assert changed_cells(GRADEBOOK, out.text) == [
        (
            '"Doe, Jane",123,s1,jdoe,"S ""A"", 1",3,,80.00,B\n',
            '"Doe, Jane",123,s1,jdoe,"S ""A"", 1",3,7.5,80.00,B\n',
        ),
        (
            '"Roe, Bob",124,s2,bob@uni.example,B,4,-,,\n',
            '"Roe, Bob",124,s2,bob@uni.example,B,4,10,,\n',
        ),
    ]
    assert not out.loses
    assert out.said == (
        f"filled '{COLUMN}' in 2 of 4 rows\n"
        "rows without a submission, left unchanged: 2\n  Lost, Lara\n  Student, Test"
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_semicolons_marks_and_line_ends_are_kept(tmp_path: Path, mark: str, end: str) -> None:
    """A German Excel saves such a file, and Canvas reads it with points of either kind."""
    german = GRADEBOOK.replace(",", ";").replace("; ", ", ").replace(".", ",")
    gradebook = mark + german.replace("uni,example", "uni.example").replace("\n", end)
    out = filled(tmp_path, gradebook, scored("doejane_123", 4, 3.5))
    assert changed_cells(gradebook, out.text) == [
        (
            f'Doe, Jane;123;s1;jdoe;"S ""A"", 1";3;;80,00;B{end}',
            f'Doe, Jane;123;s1;jdoe;"S ""A"", 1";3;7.5;80,00;B{end}',
        )
    ]


def test_the_points_row_may_stand_anywhere(tmp_path: Path) -> None:
    """Canvas knows that row by its first cell. A row about hidden grades is no student's either."""
    header, points, *students = GRADEBOOK.splitlines(keepends=True)
    hidden = ",,,,,,Manual Posting,,\n"
    moved = "".join([header, hidden, *students, points])
    out = filled(tmp_path, moved, scored("doejane_123", 4, 6))
    assert out.column(COLUMN, "ID")["123"] == "10"
    assert "in 1 of 4 rows" in out.said


def test_points_are_scaled_to_those_of_the_canvas_assignment(tmp_path: Path) -> None:
    """Canvas would accept 87 of 10 points without complaint."""
    gradebook = GRADEBOOK.replace(",5,10,", ",5,100,")
    grades = scored("doejane_123", 4, 1 / 3), scored("bob", 0, 0)
    out = filled(tmp_path, gradebook, *grades)
    assert out.column(COLUMN, "ID")["123"] == "43.3"
    assert f"'{COLUMN}': the points are scaled from 10 to 100 points" in out.said
    raw = filled(tmp_path, gradebook, *grades, scale=False)
    assert raw.column(COLUMN, "ID")["123"] == "4.33"
    assert "written as they are, out of 10, where the file says 100" in raw.said


def test_an_ungraded_submission_keeps_its_cell_and_is_reported(tmp_path: Path) -> None:
    """Canvas reads a blank as no score and would delete the one that is there."""
    grades = not_graded("lara"), unreadable("bob")
    out = filled(tmp_path, GRADEBOOK, *grades, authors=CLASS | {"lara": [LARA]})
    assert out.column(COLUMN, "ID")["125"] == "6.5"
    assert out.column(COLUMN, "ID")["124"] == "0"
    assert out.loses
    assert "x (s3), submission lara: the judge was lost twice" in out.said


def test_every_member_of_a_group_gets_the_points(tmp_path: Path) -> None:
    """A group is graded once, and every member gets the points."""
    out = filled(tmp_path, GRADEBOOK, scored("g1", 4, 6), authors={"g1": [JANE, BOB, LARA]})
    cells = out.column(COLUMN, "ID")
    assert [cells[student] for student in ("123", "124", "125")] == ["10"] * 3


def test_a_row_claimed_by_two_submissions_stays_unchanged(tmp_path: Path) -> None:
    """The instructor decides which submission counts, even if one has more points."""
    authors = {"first": [JANE], "second": [JANE]}
    out = filled(
        tmp_path, GRADEBOOK, scored("first", 4, 6), scored("second", 0, 0), authors=authors
    )
    assert out.text == GRADEBOOK
    assert out.loses
    assert "fit several submissions, left unchanged: 1" in out.said
    assert "  Doe, Jane: first, second" in out.said


def test_submissions_without_a_certain_row_are_reported(tmp_path: Path) -> None:
    """The message names the student whose points are missing."""
    authors = {"odd": [Author("Jane Doe", "s2")]}
    out = filled(tmp_path, GRADEBOOK, scored("zoe", 4, 6), scored("odd", 4, 6), authors=authors)
    assert out.text == GRADEBOOK
    assert out.loses
    assert "submissions without a row in the file: 1\n  zoe" in out.said
    assert "Jane Doe (s2), submission odd: the id leads to another row than the name" in out.said


def test_absentees_without_points_stay_blank_or_get_zero(tmp_path: Path) -> None:
    """An instructor's own points or "EX" for an excused student stay."""
    gradebook = GRADEBOOK.replace(",4,-,", ",4,EX,")
    people = [Author("Jane Doe"), Author("Bob Roe"), Author("Lara Lost"), Author("Zoe Gone")]
    blank = filled(tmp_path, gradebook, absentees=people)
    assert blank.text == gradebook
    zero = filled(tmp_path, gradebook, absentees=people, absent_zero=True)
    cells = zero.column(COLUMN, "ID")
    assert [cells[student] for student in ("123", "124", "125", "199")] == ["0", "EX", "6.5", ""]
    assert "absentees who had points already, left unchanged: 1\n  Lost, Lara" in zero.said
    assert "Roe, Bob: excused" in zero.said


def test_an_excused_student_stays_excused(tmp_path: Path) -> None:
    """The instructor excused the student, and the grader cannot know why."""
    gradebook = GRADEBOOK.replace(",4,-,", ",4,EX,")
    out = filled(tmp_path, gradebook, scored("bob", 4, 6))
    assert out.text == gradebook
    assert "must not be changed, left unchanged: 1\n  Roe, Bob: excused" in out.said


def test_a_student_excused_from_one_exercise_gets_the_points_of_the_others(tmp_path: Path) -> None:
    """With a column for each exercise, one cell says nothing of the rest of the row."""
    gradebook = "Student,ID,Section,run_mha (2),run_rope (1)\nJane Doe,123,A,EX,\n"
    out = filled(tmp_path, gradebook, scored("doejane_123", 1, 3), by_exercise=True)
    assert out.table()[1] == ["Jane Doe", "123", "A", "EX", "1"]
    assert "Jane Doe: excused from run_mha (2)" in out.said


@pytest.mark.parametrize("name", ["Quiz 1 (12)", "quiz 1", "12"])
def test_a_column_may_be_named_by_title_number_or_both(tmp_path: Path, name: str) -> None:
    """The title and the number are those that Canvas shows."""
    out = filled(tmp_path, GRADEBOOK, scored("doejane_123", 2, 3), column=name)
    assert out.column("Quiz 1 (12)", "ID")["123"] == "2.5"
    assert out.column(COLUMN, "ID")["123"] == ""


@pytest.mark.parametrize(
    ("header", "column", "words"),
    [
        (GRADEBOOK.replace("Attention (", "Homework ("), None, "uncertain which column"),
        (GRADEBOOK.replace("Quiz 1", "Attention"), None, "uncertain which column"),
        (GRADEBOOK, "Final Grade", "no columns are called 'Final Grade'"),
        (GRADEBOOK, "Homework", "name one with --column.* 'Quiz 1 .12.', 'Attention .87568490.'$"),
        (GRADEBOOK.replace(",5,10,", ",5,(read only),"), None, "marked read only"),
        ("Name,Mail\nJane,x\n", None, "not a gradebook of Canvas.* begins with 'Name, Mail'"),
        ("", None, "not a gradebook of Canvas.* begins with 'nothing'"),
        (GRADEBOOK.replace(",Section,", ",Group,"), None, "not a gradebook of Canvas"),
    ],
)
def test_an_uncertain_gradebook_column_is_refused(
    tmp_path: Path, header: str, column: str | None, words: str
) -> None:
    """Points in a wrong column overwrite other work, and Canvas never reads computed columns."""
    with pytest.raises(ExportRefused, match=words):
        filled(tmp_path, header, scored("doejane_123", 4, 6), column=column)


def test_the_only_assignment_column_is_filled_whatever_its_title(tmp_path: Path) -> None:
    """The message says which column was filled."""
    gradebook = GRADEBOOK.replace("Quiz 1 (12)", "Notes").replace("Attention (", "Homework (")
    out = filled(tmp_path, gradebook, scored("doejane_123", 4, 6))
    assert out.column("Homework (87568490)", "ID")["123"] == "10"
    assert "filled 'Homework (87568490)'" in out.said


def test_first_and_last_names_may_have_columns_of_their_own(tmp_path: Path) -> None:
    """Canvas writes and reads this header too."""
    gradebook = (
        "LastName,FirstName,ID,SIS User ID,SIS Login ID,Section,Attention (1)\n"
        "    Points Possible,,,,,,10\nDoe,Jane,,,,A,\n"
    )
    out = filled(tmp_path, gradebook, scored("s", 4, 6), authors={"s": [Author("Jane Doe")]})
    assert out.column("Attention (1)", "LastName")["Doe"] == "10"


def test_each_exercise_may_be_an_assignment(tmp_path: Path) -> None:
    """`--points exercise` finds the columns by the exercises' names."""
    gradebook = (
        "Student,ID,Section,run_mha (2),run_rope (1)\n"
        "    Points Possible,,,12,4\nJane Doe,123,A,,\n"
    )
    out = filled(tmp_path, gradebook, scored("doejane_123", 1, 3), by_exercise=True)
    assert out.table()[2] == ["Jane Doe", "123", "A", "6", "1"]
    with pytest.raises(ExportRefused, match=r"no column for run_rope, run_mha"):
        filled(tmp_path, GRADEBOOK, scored("doejane_123", 1, 3), by_exercise=True)
    with pytest.raises(ExportRefused, match="leave out --column"):
        filled(tmp_path, gradebook, scored("s", 1, 3), by_exercise=True, column="run_mha")


def test_a_formula_in_the_instructors_cells_stays_unchanged(tmp_path: Path) -> None:
    """The file comes back as it was, whatever its cells hold."""
    gradebook = GRADEBOOK.replace("Lost, Lara", "=SUM(1;2)")
    out = filled(tmp_path, gradebook, scored("doejane_123", 4, 6))
    assert out.table()[4][0] == "=SUM(1;2)"


def test_without_a_template_nothing_is_written(tmp_path: Path) -> None:
    """Only Canvas's own file says which id is whose."""
    with pytest.raises(ExportRefused, match="export the gradebook and name it with --template"):
        exported("canvas", a_batch(tmp_path, scored("bob", 4, 6)))
