"""Who gets which points in a platform's file: each row's score, and whoever has none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.reports.export.matching import Directory, NoRow, PersonRow
from grader.reports.export.remarks import Remark, described, handed_in
from grader.reports.export.scores import ClassScores, Score


@dataclass(frozen=True, slots=True)
class Placement:
    """The one score of each row, the rows of absentees, those excused, and what is to be said."""

    scores: Mapping[int, Score]
    absent: frozenset[int]
    excused: frozenset[int]
    remarks: tuple[Remark, ...]


def place(rows: Sequence[PersonRow], scores: ClassScores) -> Placement:
    """Finds the row of every author of every submission, and of every absentee.

    A row that more than one submission was found for gets nothing: whose it is, or which of them
    counts, is not for us to guess.
    """
    directory = Directory(rows)
    claims: dict[int, dict[str, Score]] = defaultdict(dict)
    missing: dict[str, None] = {}
    doubtful: dict[str, None] = {}
    for score in scores.scores:
        for person in score.people:
            if score.submission in scores.unsure:
                why = scores.unsure[score.submission]
                doubtful[f"{handed_in(person, score.submission)}: {why}"] = None
                continue
            try:
                for row in directory.rows_of(person):
                    claims[row.number][score.submission] = score
            except NoRow as reason:
                who = handed_in(person, score.submission)
                if str(reason):
                    doubtful[f"{who}: {reason}"] = None
                else:
                    missing[who] = None
    absent, excused, strangers = set(), set(), []
    for person in scores.absentees:
        try:
            rows_of_one = {row.number for row in directory.rows_of(person)}
            absent |= rows_of_one
            excused |= rows_of_one if person in scores.excused else set()
        except NoRow:
            strangers.append(described(person))
    sure = {row: found for row, found in claims.items() if len(found) == 1}
    placed = {row: score for row, found in sure.items() for score in found.values()}
    alone = [row.label for row in rows if row.number not in claims.keys() | absent]
    remarks = (
        Remark("submissions without a row in the file", tuple(missing), lost=True),
        Remark("submissions whose row is uncertain, put down nowhere", tuple(doubtful), lost=True),
        Remark(
            "rows that several submissions were found for, left as they were",
            tuple(_contested(rows, claims)),
            lost=True,
        ),
        Remark("rows without a submission, left as they were", tuple(alone)),
        Remark("absentees without a row in the file", tuple(strangers)),
    )
    told = tuple(remark for remark in remarks if remark.about)
    missing_rows = frozenset(absent - claims.keys())
    return Placement(placed, missing_rows, frozenset(excused) & missing_rows, told)


def _contested(rows: Sequence[PersonRow], claims: Mapping[int, Iterable[str]]) -> Iterable[str]:
    for row in rows:
        submissions = [*claims.get(row.number, ())]
        if len(submissions) > 1:
            yield f"{row.label}: {', '.join(submissions)}"
