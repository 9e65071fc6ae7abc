"""The filling of points into the cells of an instructor's own file."""

from __future__ import annotations

import contextlib
import html
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.core.points import points_of
from grader.core.submission import Author
from grader.core.text import plain, points
from grader.reports.export.scores import ClassScores, Export, Remark, Score, handed_in
from grader.reports.export.sheet import Directory, NoRow, PersonRow, Sheet
from grader.results.decisions.settlement import Settlement


@dataclass(frozen=True, slots=True)
class Placement:
    """The score of each row, the rows of absentees and of excused people, and remarks."""

    scores: Mapping[int, Score]
    absent: frozenset[int]
    excused: frozenset[int]
    remarks: tuple[Remark, ...]


_Claims = dict[int, dict[str, tuple[Score, Author]]]


def _claims(
    rows: Sequence[PersonRow], directory: Directory, scores: ClassScores
) -> tuple[_Claims, Sequence[str], Sequence[str]]:
    """Returns each row's submissions; then the people without a row, and those with a doubtful one.

    An exact identifier outranks a name.
    """
    exact: _Claims = defaultdict(dict)
    by_name: _Claims = defaultdict(dict)
    missing, doubtful = dict[str, None](), dict[str, None]()
    people = ((score, one) for score in scores.scores for one in score.people)
    for score, person in people:
        if score.submission in scores.unsure:
            continue
        who = handed_in(person, score.submission)
        try:
            found, is_exact = directory.rows_of(person)
        except NoRow as reason:
            if str(reason):
                doubtful[f"{who}: {reason}"] = None
            else:
                missing[who] = None
            continue
        for row in found:
            (exact if is_exact else by_name)[row.number][score.submission] = score, person
    labels = {row.number: row.label for row in rows}
    for number, weaker in by_name.items():
        for name, (_, person) in weaker.items():
            if number in exact and name not in exact[number]:
                why = f"only the name fits {labels[number]}"
                doubtful[f"{handed_in(person, name)}: {why}"] = None
    return by_name | exact, [*missing], [*doubtful]


def place(rows: Sequence[PersonRow], scores: ClassScores) -> Placement:
    """Finds the row of every author of every submission, and of every absentee.

    An id or an address outranks a name. A row with several submissions left gets no points: the
    grader does not guess which one counts.
    """
    directory = Directory(rows)
    claims, missing, doubtful = _claims(rows, directory, scores)
    absent, excused = set[int](), set[int]()
    for person in scores.absentees:
        with contextlib.suppress(NoRow):
            rows_of_one = {row.number for row in directory.rows_of(person)[0]}
            absent |= rows_of_one
            excused |= rows_of_one if person in scores.excused else set()
    sure = {row: found for row, found in claims.items() if len(found) == 1}
    placed = {row: score for row, found in sure.items() for score, _ in found.values()}
    alone = [row.label for row in rows if row.number not in claims.keys() | absent]
    contested = [
        f"{row.label}: {', '.join(claims[row.number])}"
        for row in rows
        if len(claims.get(row.number, ())) > 1
    ]
    remarks = (
        Remark("submissions without a row in the file", tuple(missing), lost=True),
        Remark(
            "submissions with an uncertain row, not written",
            tuple(doubtful),
            lost=True,
        ),
        Remark(
            "rows that fit several submissions, left unchanged",
            tuple(contested),
            lost=True,
        ),
        Remark("rows without a submission, left unchanged", tuple(alone)),
    )
    told = tuple(remark for remark in remarks if remark.about)
    missing_rows = frozenset(absent - claims.keys())
    return Placement(placed, missing_rows, frozenset(excused) & missing_rows, told)


@dataclass(frozen=True, slots=True)
class Choices:
    """The instructor's choices for an export.

    `column` is the title of the column to fill, if the instructor named one. `by_exercise` asks for
    a column for each exercise, or for the total alone (None: the format decides).
    `absent_zero` gives absentees 0 points. `scale` scales the points to those of the platform's
    assignment. `feedback` adds feedback text to the points.
    """

    column: str | None = None
    by_exercise: bool | None = None
    absent_zero: bool = False
    scale: bool = True
    feedback: bool = False


@dataclass(frozen=True, slots=True)
class ColumnTarget:
    """A column to fill with an exercise's points, or with the total if `exercise` is None.

    `possible` is the platform's maximum, if the file states one; `ours` is the tests' maximum.
    """

    column: int
    title: str
    possible: float | None
    ours: float | None
    exercise: str | None = None

    @property
    def is_scaled(self) -> bool:
        """Returns whether the platform's maximum differs from the tests' maximum."""
        if not self.possible or not self.ours:
            return False
        return not math.isclose(self.possible, self.ours)

    def points(self, own: Settlement, is_scaled: bool) -> float | None:
        """Returns the final points that belong in the column, scaled to its maximum if asked."""
        got, worth = own.hundredths, own.worth
        if self.exercise:
            if self.exercise not in own.exercises:
                return None
            got, worth = own.by_exercise()[self.exercise], own.exercises[self.exercise].worth
        if is_scaled and self.possible and worth:
            return points_of(got) * self.possible / points_of(worth)
        return points_of(got)


@dataclass(frozen=True, slots=True)
class FillableSheet:
    """An instructor's file with the rows of people and the columns of points to fill.

    `locked` maps each row whose points must not change to the reason. `feedback` is the column
    for feedback text. `excused` is the cell text for excused people, if the platform has one.
    `capped` says that the platform skips points above its maximum.
    """

    sheet: Sheet
    rows: Sequence[PersonRow]
    targets: Sequence[ColumnTarget]
    locked: Mapping[int, str] = field(default_factory=dict)
    feedback: int | None = None
    excused: str | None = None
    capped: bool = False

    def is_excused(self, row: int, target: ColumnTarget) -> bool:
        """Returns whether the file says that a person is excused from a column."""
        return self.sheet.cell(row, target.column).strip().upper() == self.excused


# Why rows stay unchanged.
_LOCKED = "rows that must not be changed, left unchanged"
_WORDS = "rows that had feedback already, which was kept"
_POINTS = "absentees who had points already, left unchanged"
_EXCUSED = "excused, and without points"
_ABOVE = "points above the maximum, which the platform would skip, not written"
_KEPT = (_LOCKED, _ABOVE, _WORDS, _POINTS, _EXCUSED)


def fill(form: FillableSheet, scores: ClassScores, choices: Choices) -> Export:
    """Returns the file with the points of the class filled in, and remarks."""
    placement = place(form.rows, scores)
    kept: dict[str, list[str]] = {reason: [] for reason in _KEPT}
    filled = 0
    for row in form.rows:
        score = placement.scores.get(row.number)
        zero = choices.absent_zero and row.number in placement.absent - placement.excused
        is_excused = row.number in placement.excused or (score and score.settlement.excused)
        if row.number in form.locked and is_excused and form.excused:
            continue
        if row.number in form.locked and (score or zero):
            kept[_LOCKED].append(f"{row.label}: {form.locked[row.number]}")
        elif is_excused:
            kept[_EXCUSED].append(row.label)
            for target in form.targets if form.excused else ():
                form.sheet.put(row.number, target.column, form.excused or "")
        elif score is not None and score.settlement.has_points:
            left, above = _put(form, row.number, score, choices)
            kept[_LOCKED] += [f"{row.label}: excused from {title}" for title in left]
            kept[_ABOVE] += [f"{row.label}: {one}" for one in above]
            filled += not above
            if form.feedback is not None and not _put_words(form, row.number, score):
                kept[_WORDS].append(row.label)
        elif zero:
            kept[_POINTS] += [row.label] * (not _put_zero(form, row.number))
    unchanged = [
        Remark(reason, tuple(labels), lost=reason == _ABOVE)
        for reason, labels in kept.items()
        if labels
    ]
    said = (*_about_targets(form, choices, filled), *placement.remarks, *unchanged)
    return Export(str(form.sheet), said)


def _put(
    form: FillableSheet, row: int, score: Score, choices: Choices
) -> tuple[Sequence[str], Sequence[str]]:
    """Fills in a person's points; returns the columns and the points that it leaves out.

    These are the columns from which the file excuses the person, and points above a maximum.
    """
    left, above = [], []
    for target in form.targets:
        got = target.points(score.settlement, choices.scale)
        if form.is_excused(row, target):
            left.append(target.title)
        elif got is not None:
            number = points(got)
            if form.capped and target.possible and float(number) > target.possible:
                above.append(f"{number} of {points(target.possible)}")
            else:
                form.sheet.put(row, target.column, number)
    return left, above


_SIGN = re.compile("[=@＝＋－＠+-]")
_FORMULA = re.compile(r"""(?:\A|[;\t\r\n|])(?:[ "']*[=@＝＋－＠+-])+""")


def _as_html(text: str) -> str:
    """Returns text as HTML; entities replace the characters that would start a formula."""
    escaped = html.escape(plain(text).strip(), quote=False)
    return _FORMULA.sub(lambda found: _SIGN.sub(_entity, found[0]), escaped)


def _entity(sign: re.Match[str]) -> str:
    return f"&#{ord(sign[0])};"


def _put_words(form: FillableSheet, row: int, score: Score) -> bool:
    """Fills in feedback as HTML, which Moodle expects; returns False if other text is there."""
    assert form.feedback is not None
    words = _as_html(score.feedback)
    if form.sheet.cell(row, form.feedback).strip() not in {"", words}:
        return False
    form.sheet.put(row, form.feedback, words)
    return True


def _put_zero(form: FillableSheet, row: int) -> bool:
    """Fills in 0 in all columns; returns False, and changes nothing, if one has points already.

    Columns from which the file excuses the person stay as they are.
    """
    open_ones = [target for target in form.targets if not form.is_excused(row, target)]
    if any(form.sheet.cell(row, one.column).strip() not in {"", "-"} for one in open_ones):
        return False
    for target in open_ones:
        form.sheet.put(row, target.column, "0")
    return True


def _about_targets(form: FillableSheet, choices: Choices, filled: int) -> Iterator[Remark]:
    titles = ", ".join(repr(target.title) for target in form.targets)
    yield Remark(f"filled {titles} in {filled} of {len(form.rows)} rows")
    for target in form.targets:
        if target.is_scaled:
            assert target.possible is not None
            assert target.ours is not None
            ours, theirs = points(target.ours), points(target.possible)
            what = (
                f"scaled from {ours} to {theirs} points"
                if choices.scale
                else f"written as they are, out of {ours}, where the file says {theirs}"
            )
            yield Remark(f"{target.title!r}: the points are {what}")
