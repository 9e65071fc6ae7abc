"""Canvas's gradebook: an export of the instructor's with points put in, or a new file to import.

Source: `lib/gradebook_importer.rb` of canvas-lms, which reads the file.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence

from grader.core.submission import Author
from grader.core.text import one_line
from grader.reports.export.filling import Choices, ColumnTarget, FillableSheet, fill
from grader.reports.export.matching import PersonRow
from grader.reports.export.remarks import Export, ExportRefused
from grader.reports.export.scores import ClassScores
from grader.reports.export.sheet import Sheet, figure, harmless, number_in, row_text

_POINTS = "Points Possible"
_NEW_HEADER = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
_KEYS = ("ID", "SIS User ID", "SIS Login ID")
_COMPUTED = re.compile(
    "(Current|Final) (Score|Points|Grade)|Override (Score|Grade|Status)", re.IGNORECASE
)
_TITLE_AND_ID = re.compile(r"(?P<title>.*?)\s*\((?P<id>[0-9]+)\)", re.DOTALL)
_NO_STUDENT = re.compile(r"\s*(Muted|Manual Posting.*)?\s*", re.IGNORECASE | re.DOTALL)


def fill_gradebook(gradebook: Sheet, scores: ClassScores, choices: Choices) -> Export:
    """Returns the instructor's gradebook with the points in the assignment's column.

    Raises:
        ExportRefused: if it is no gradebook, or the column is not sure.
    """
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
        ColumnTarget(column, columns[column], _worth(gradebook, possible, column), ours, exercise)
        for column, ours, exercise in _chosen(columns, scores, choices)
    ]
    rows = [*_students(gradebook, *places, possible)]
    locked = {
        row.number: "excused"
        for row in rows
        for target in targets
        if gradebook.cell(row.number, target.column).strip().upper() == "EX"
    }
    return fill(FillableSheet(gradebook, rows, targets, locked, excused="EX"), scores, choices)


def new_gradebook(scores: ClassScores, choices: Choices) -> Export:
    """Returns a gradebook of the class whose columns Canvas offers as new assignments.

    Raises:
        ExportRefused: if Canvas would not take a column's title for an assignment's.
    """
    worth: list[tuple[str | None, float | None]] = [(None, scores.max_score)]
    if choices.by_exercise:
        worth = [*scores.exercises.items()]
    titles = [exercise or choices.column or scores.assignment for exercise, _ in worth]
    computed = next((title for title in titles if _COMPUTED.search(title)), None)
    if computed is not None:
        raise ExportRefused(
            f"Canvas takes no column called {computed!r} for an assignment's: "
            "name another title with --column"
        )
    if not choices.absent_zero:
        # A row that holds nothing says nothing.
        excused = tuple(person for person in scores.absentees if person in scores.excused)
        scores = dataclasses.replace(scores, absentees=excused)
    students = _new_students(scores)
    possible = ["" if ours is None else figure(ours) for _, ours in worth]
    lines = [
        [*_NEW_HEADER, *map(harmless, titles)],
        [f"    {_POINTS}", "", "", "", "", *possible],
        *([*map(harmless, cells), *[""] * len(titles)] for cells in students.values()),
    ]
    rows = [
        PersonRow(number, name or sis_id or email, (canvas_id, sis_id, email), (name,))
        for number, (name, canvas_id, sis_id, email, _) in enumerate(students.values(), 2)
    ]
    targets = [
        ColumnTarget(column, title, None, ours, exercise)
        for column, (title, (exercise, ours)) in enumerate(
            zip(titles, worth, strict=True), len(_NEW_HEADER)
        )
    ]
    sheet = Sheet("".join(map(row_text, lines)))
    return fill(FillableSheet(sheet, rows, targets, excused="EX"), scores, choices)


def _new_students(scores: ClassScores) -> dict[str, Sequence[str]]:
    """Returns name, id, SIS id, login and section of each person, by what tells them from others.

    A number that ends a submission's name is the one in Canvas's download; any other comes from
    elsewhere, and Canvas would take it for another student's.
    """
    students: dict[str, Sequence[str]] = {}
    for score in scores.scores:
        for person in score.people:
            canvas_id = score.submission.endswith(f"_{person.id}") and person.id.isdecimal()
            ids = (person.id, "") if canvas_id else ("", person.id)
            login = person.email or (person.name if "@" in person.name else "")
            students.setdefault(_identity(person), (person.name, *ids, login, ""))
    for person in scores.absentees:
        students.setdefault(_identity(person), (person.name, "", person.id, person.email, ""))
    return students


def _identity(person: Author) -> str:
    return (person.id or person.email or person.name).casefold()


def _places(header: Sequence[str]) -> tuple[tuple[int, ...], dict[str, int]] | None:
    """Returns where names and keys stand, the first name before the last.

    Returns none if it is no gradebook.
    """
    if len(header) > 3 and "Student" in header[0] and "ID" in header[1]:
        names: tuple[int, ...] = (0,)
    elif len(header) > 4 and [*header[:2]] == ["LastName", "FirstName"] and "ID" in header[2]:
        names = (1, 0)
    else:
        return None
    return names, {title: column for column, title in enumerate(header) if title in _KEYS}


def _worth(gradebook: Sheet, possible: int | None, column: int) -> float | None:
    """Returns the points that an assignment is worth, if the gradebook says so.

    Raises: ExportRefused: if Canvas reads no points from the column.
    """
    said = "" if possible is None else gradebook.cell(possible, column)
    if "read only" in said:
        title = gradebook.cell(0, column)
        raise ExportRefused(f"Canvas does not read the column {title!r}: it is marked read only")
    return number_in(said)


def _students(
    gradebook: Sheet, names: Sequence[int], keys: Mapping[str, int], possible: int | None
) -> Iterator[PersonRow]:
    """Yields the rows of students: neither the points nor what Canvas says of hidden grades."""
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
    """Yields the columns to fill, with what they are worth here and whose points they take."""
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
    """Returns the column called `wanted`; if none is wanted, the assignment's, or the only one."""
    if wanted is not None:
        found = _called(columns, wanted)
    else:
        found = _called(columns, assignment) or [
            column for column, title in columns.items() if _TITLE_AND_ID.fullmatch(title)
        ]
    if len(found) == 1:
        return found[0]
    titles = ", ".join(repr(title) for title in columns.values()) or "no assignment's column"
    what = "no column is surely the assignment's"
    if wanted is not None:
        what = f"{len(found) or 'no'} columns are called {wanted!r}"
    raise ExportRefused(
        f"{what}: name one with --column, by its whole title; the template has {titles}"
    )


def _called(columns: Mapping[int, str], wanted: str) -> list[int]:
    """Returns the columns with this title, its number in Canvas, or both."""
    found = []
    for column, header in columns.items():
        parts = _TITLE_AND_ID.fullmatch(header.strip())
        forms = {header.strip(), *(parts.groups() if parts else ())}
        if wanted.strip().casefold() in {form.casefold() for form in forms}:
            found.append(column)
    return found
