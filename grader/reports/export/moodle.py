"""Moodle's grading worksheet, with points put in.

The worksheet is in the language of whoever downloaded it, and Moodle reads back only the headers of
that language: so columns are known by their English names, by their order and by what stands in
them. Sources: `mod/assign/gradingtable.php`, which writes it, and `mod/assign/feedback/offline` of
Moodle, which reads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from grader.core.text import one_line
from grader.reports.export.filling import Choices, ColumnTarget, FillableSheet, fill
from grader.reports.export.matching import PersonRow
from grader.reports.export.remarks import Export, ExportRefused
from grader.reports.export.scores import ClassScores
from grader.reports.export.sheet import Sheet, number_in

# What stands in the first column: "Participant 1234", in any language.
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
        ExportRefused: if it is no worksheet, or one without points.
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
        _worth(worksheet, people, maximum) if maximum is not None else None,
        scores.max_score,
    )
    form = FillableSheet(
        worksheet,
        [_row(worksheet, number, grade) for number in people],
        [target],
        _locked(worksheet, people, grade),
        _feedback(worksheet, people, grade) if choices.feedback else None,
    )
    return fill(form, scores, choices)


def _row(worksheet: Sheet, number: int, grade: int) -> PersonRow:
    """Returns a participant's number, then the other columns between name and grade."""
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
    """Returns the columns of the grade and of its maximum, which stands behind it."""
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
            "the column of grades is not sure, or grades are no points but words of a scale: "
            f"name it with --column; the template has {_titles(worksheet)}"
        )
    return told[0] - 1, told[0]


def _is_maximum(worksheet: Sheet, people: Sequence[int], column: int) -> bool:
    """Returns whether a column holds one number throughout, after grades or blanks."""
    numbers = {number_in(worksheet.cell(number, column)) for number in people}
    before = [worksheet.cell(number, column - 1).strip() for number in people]
    grades = all(cell in {"", "-"} or number_in(cell) is not None for cell in before)
    return len(numbers) == 1 and None not in numbers and grades


def _worth(worksheet: Sheet, people: Sequence[int], maximum: int) -> float:
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
    """Returns the rows whose grade Moodle does not let change."""
    for column in range(grade + 1, len(worksheet.row(0))):
        cells = {number: worksheet.cell(number, column).strip().casefold() for number in people}
        if set(cells.values()) <= _YES | _NO:
            title = worksheet.cell(0, column)
            return {number: f"{title}: {cell}" for number, cell in cells.items() if cell in _NO}
    return {}


def _feedback(worksheet: Sheet, people: Sequence[int], grade: int) -> int:
    """Returns the column of comments: so called, or the last one if nobody's date stands there."""
    header = worksheet.row(0)
    for column, title in enumerate(header):
        if title.strip().casefold() == _FEEDBACK:
            return column
    last = len(header) - 1
    english = any(title.strip().casefold() == _MAXIMUM for title in header)
    if english or last < grade + 5 or any(_is_dated(worksheet, number, last) for number in people):
        raise ExportRefused(
            "the template has no column for feedback: switch feedback comments on in the "
            "assignment's settings in Moodle, or leave out --feedback"
        )
    return last


def _is_dated(worksheet: Sheet, number: int, column: int) -> bool:
    return worksheet.cell(number, column).strip() == "-"


def _titles(worksheet: Sheet) -> str:
    return ", ".join(repr(title) for title in worksheet.row(0))
