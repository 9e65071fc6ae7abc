"""Gradebooks: an instructor's own file from Canvas or Moodle, with points filled in.

`lib/gradebook_importer.rb` of canvas-lms reads the gradebook.

Moodle's grading worksheet is in the language of the instructor who downloads it, and Moodle reads
back only headers of that language. Columns are therefore recognised by English names, by order and
by content. Moodle's `mod/assign/gradingtable.php` writes the worksheet, and
`mod/assign/feedback/offline` reads it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence

from grader.core.text import one_line
from grader.reports.export.filling import Choices, ColumnTarget, FillableSheet, fill
from grader.reports.export.scores import ClassScores, Export, ExportRefused
from grader.reports.export.sheet import PersonRow, Sheet, number_in

_POINTS = "Points Possible"
_KEYS = ("ID", "SIS User ID", "SIS Login ID")
_COMPUTED = re.compile(
    "(Current|Final) (Score|Points|Grade)|Override (Score|Grade|Status)", re.IGNORECASE
)
_TITLE_AND_ID = re.compile(r"(?P<title>.*?)\s*\((?P<id>[0-9]+)\)", re.DOTALL)
_NO_STUDENT = re.compile(r"\s*(Muted|Manual Posting.*)?\s*", re.IGNORECASE | re.DOTALL)


def fill_gradebook(gradebook: Sheet, scores: ClassScores, choices: Choices) -> Export:
    """Returns the instructor's gradebook with the points in the assignment's column.

    Raises:
        ExportRefused: if the file is not a gradebook, or the column is uncertain.
    """
    if choices.by_exercise and choices.column is not None:
        raise ExportRefused(
            "--points exercise fills a column for each exercise, found by the exercise's name: "
            "leave out --column"
        )
    header = gradebook.row(0) if len(gradebook) else []
    section = next((i for i, title in enumerate(header) if i > 1 and "Section" in title), None)
    if (places := _places(header)) is None or section is None:
        raise ExportRefused(
            "the template is not a gradebook of Canvas, whose first row begins with Student and ID "
            f"and has a Section: it begins with {one_line(', '.join(header[:5])) or 'nothing'!r}"
        )
    columns = {
        column: title
        for column, title in enumerate(header)
        if column > section and title.strip() and not _COMPUTED.search(title)
    }
    possible = next((n for n in range(1, len(gradebook)) if _POINTS in gradebook.cell(n, 0)), None)
    targets = [
        ColumnTarget(
            column, columns[column], _worth_of(gradebook, possible, column), ours, exercise
        )
        for column, ours, exercise in _chosen(columns, scores, choices)
    ]
    rows = [*_students(gradebook, *places, possible)]
    sheet = FillableSheet(gradebook, rows, targets, excused="EX")
    locked = {
        row.number: "excused"
        for row in rows
        if all(sheet.is_excused(row.number, target) for target in targets)
    }
    return fill(dataclasses.replace(sheet, locked=locked), scores, choices)


def _places(header: Sequence[str]) -> tuple[tuple[int, ...], dict[str, int]] | None:
    """Returns the columns of names, first names first, and of ids; None if it is no gradebook."""
    if len(header) > 3 and "Student" in header[0] and "ID" in header[1]:
        names: tuple[int, ...] = (0,)
    elif len(header) > 4 and [*header[:2]] == ["LastName", "FirstName"] and "ID" in header[2]:
        names = (1, 0)
    else:
        return None
    return names, {title: column for column, title in enumerate(header) if title in _KEYS}


def _worth_of(gradebook: Sheet, possible: int | None, column: int) -> float | None:
    """Returns the points that an assignment is worth, if the gradebook says so."""
    said = "" if possible is None else gradebook.cell(possible, column)
    if "read only" in said:
        title = gradebook.cell(0, column)
        raise ExportRefused(f"Canvas does not read the column {title!r}: it is marked read only")
    return number_in(said)


def _students(
    gradebook: Sheet, names: Sequence[int], keys: Mapping[str, int], possible: int | None
) -> Iterator[PersonRow]:
    """Yields the rows of students, without the row of maxima and Canvas's row on hidden grades."""
    for number in range(1, len(gradebook)):
        cells = gradebook.row(number)
        if number == possible or all(map(_NO_STUDENT.fullmatch, cells)):
            continue
        name = " ".join(gradebook.cell(number, column) for column in names).strip()
        known = tuple(gradebook.cell(number, keys[key]) if key in keys else "" for key in _KEYS)
        label = name or next(filter(None, known), f"row {number + 1}")
        yield PersonRow(number, label, known, (name,))


def _chosen(
    columns: Mapping[int, str], scores: ClassScores, choices: Choices
) -> Iterator[tuple[int, float | None, str | None]]:
    """Yields each column to fill, its maximum points here, and its exercise or None (total)."""
    if not choices.by_exercise:
        yield _column(columns, scores.assignment, choices.column), scores.max_score, None
        return
    missing = [exercise for exercise in scores.exercises if not _called(columns, exercise)]
    if missing:
        raise ExportRefused(
            f"the template has no column for {', '.join(missing)}: "
            "make these assignments in Canvas and export the gradebook again, or give the total"
        )
    for exercise, ours in scores.exercises.items():
        yield _column(columns, scores.assignment, exercise), ours, exercise


def _column(columns: Mapping[int, str], assignment: str, wanted: str | None) -> int:
    """Returns the column with a title; for None, the assignment's column or the only one."""
    if wanted is not None:
        found = _called(columns, wanted)
    else:
        found = _called(columns, assignment) or [
            column for column, title in columns.items() if _TITLE_AND_ID.fullmatch(title)
        ]
    if len(found) == 1:
        return found[0]
    titles = ", ".join(repr(title) for title in columns.values()) or "no assignment's column"
    what = "it is uncertain which column is the assignment's"
    if wanted is not None:
        what = f"{len(found) or 'no'} columns are called {wanted!r}"
    raise ExportRefused(
        f"{what}: name one with --column, by its whole title; the template has {titles}"
    )


def _called(columns: Mapping[int, str], wanted: str) -> list[int]:
    found = []
    for column, header in columns.items():
        parts = _TITLE_AND_ID.fullmatch(header.strip())
        forms = {header.strip(), *(parts.groups() if parts else ())}
        if wanted.strip().casefold() in {form.casefold() for form in forms}:
            found.append(column)
    return found


# The first column holds "Participant 1234", in any language.
_IDENTIFIER = re.compile(r"(?P<called>.*\D)?(?P<number>[0-9]+)", re.DOTALL)
_MAXIMUM = "maximum grade"
_FEEDBACK = "feedback comments"
_NO = {
    *("no", "nein", "non", "não", "nee", "nej", "nei", "nie", "ne", "nem", "nu", "ez", "ei"),
    *("нет", "ні", "не", "όχι", "hayır", "لا", "לא", "いいえ", "否", "아니오", "아니요"),
}
_YES = {
    *("yes", "ja", "oui", "sí", "si", "sì", "sim", "tak", "ano", "igen", "da", "bai", "kyllä"),
    *("да", "так", "ναι", "evet", "نعم", "כן", "はい", "是", "예"),
}


def fill_worksheet(worksheet: Sheet, scores: ClassScores, choices: Choices) -> Export:
    """Returns the instructor's worksheet with the points in its column of grades.

    Raises:
        ExportRefused: if the file is not a worksheet, or has no points.
    """
    people = [n for n in range(1, len(worksheet)) if any(map(str.strip, worksheet.row(n)))]
    if not people or not all(_identifier(worksheet, number) for number in people):
        raise ExportRefused(
            "the template is not a grading worksheet of Moodle, whose first column holds "
            '"Participant 1234" and the like: download it once more ("Download grading worksheet")'
        )
    grade, maximum = _grade_and_maximum(worksheet, people, choices.column)
    target = ColumnTarget(
        grade,
        worksheet.cell(0, grade),
        _maximum_of(worksheet, people, maximum) if maximum is not None else None,
        scores.max_score,
    )
    form = FillableSheet(
        worksheet,
        [_row(worksheet, number, grade) for number in people],
        [target],
        _locked(worksheet, people, grade),
        _feedback(worksheet, people, grade) if choices.feedback else None,
        capped=True,
    )
    return fill(form, scores, choices)


def _row(worksheet: Sheet, number: int, grade: int) -> PersonRow:
    """Returns a participant's row; its keys are the number and the columns from name to grade."""
    identifier, *others = worksheet.row(number)[:grade]
    parts = _identifier(worksheet, number)
    assert parts is not None
    name = others[0] if others else ""
    label = f"{identifier} ({name})" if name.strip() else identifier
    keys = (parts["number"], *others[1:])
    return PersonRow(number, label, keys, (name, parts["called"] or ""), tuple(others[1:]))


def _identifier(worksheet: Sheet, number: int) -> re.Match[str] | None:
    return _IDENTIFIER.fullmatch(worksheet.cell(number, 0).strip())


def _grade_and_maximum(
    worksheet: Sheet, people: Sequence[int], wanted: str | None
) -> tuple[int, int | None]:
    """Returns the columns of the grade and of its maximum, which follows it, if there is one."""
    header = [title.strip().casefold() for title in worksheet.row(0)]
    if wanted is not None:
        found = [at for at, title in enumerate(header) if title == wanted.strip().casefold()]
        if len(found) != 1:
            raise ExportRefused(
                f"{len(found) or 'no'} columns are called {wanted!r}: "
                f"the template has {_titles(worksheet)}"
            )
        behind = found[0] + 1
        has_maximum = _is_maximum(worksheet, people, behind)
        return found[0], behind if has_maximum else None
    named = [at for at, title in enumerate(header) if title == _MAXIMUM and at > 1]
    told = named or [at for at in range(2, len(header)) if _is_maximum(worksheet, people, at)]
    if len(told) != 1:
        raise ExportRefused(
            "the column of grades is uncertain, or grades are words of a scale and not points: "
            f"name it with --column; the template has {_titles(worksheet)}"
        )
    return told[0] - 1, told[0]


def _is_maximum(worksheet: Sheet, people: Sequence[int], column: int) -> bool:
    """Returns whether a column holds one number throughout, after a column of grades or blanks."""
    numbers = {number_in(worksheet.cell(number, column)) for number in people}
    before = [worksheet.cell(number, column - 1).strip() for number in people]
    grades = all(cell in {"", "-"} or number_in(cell) is not None for cell in before)
    return len(numbers) == 1 and None not in numbers and grades


def _maximum_of(worksheet: Sheet, people: Sequence[int], maximum: int) -> float:
    said = {worksheet.cell(number, maximum).strip() for number in people}
    numbers = {number_in(text) for text in said}
    worth = next(iter(numbers))
    if len(numbers) != 1 or not worth:
        raise ExportRefused(
            f"the assignment in Moodle is not graded in points: {worksheet.cell(0, maximum)!r} "
            f"says {one_line(', '.join(sorted(said)))!r}"
        )
    return worth


def _locked(worksheet: Sheet, people: Sequence[int], grade: int) -> Mapping[int, str]:
    """Returns the rows whose grade Moodle does not allow to change, with the reason."""
    for column in range(grade + 1, len(worksheet.row(0))):
        cells = {number: worksheet.cell(number, column).strip().casefold() for number in people}
        if set(cells.values()) <= _YES | _NO:
            title = worksheet.cell(0, column)
            return {number: f"{title}: {cell}" for number, cell in cells.items() if cell in _NO}
    return {}


def _feedback(worksheet: Sheet, people: Sequence[int], grade: int) -> int:
    """Returns the column of comments: by title, or else the last one unless it holds dates."""
    header = worksheet.row(0)
    for column, title in enumerate(header):
        if title.strip().casefold() == _FEEDBACK:
            return column
    last = len(header) - 1
    english = any(title.strip().casefold() == _MAXIMUM for title in header)
    if (
        english
        or last < grade + 5
        or "-" in (worksheet.cell(number, last).strip() for number in people)
    ):
        raise ExportRefused(
            "the template has no column for feedback: switch feedback comments on in the "
            "assignment's settings in Moodle, or leave out --feedback"
        )
    return last


def _titles(worksheet: Sheet) -> str:
    return ", ".join(repr(title) for title in worksheet.row(0))
