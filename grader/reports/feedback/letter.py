"""The letter to the people behind one submission: a page and a text, about nobody else."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.core.points import points_of
from grader.core.submission import Author
from grader.core.text import one_line, plain, points
from grader.core.verdict import Grade, GradeStatus
from grader.reports.cause_text import notes
from grader.reports.pages.graded import Graded
from grader.reports.pages.submission_page import submission_page
from grader.reports.standing import ExerciseStanding, Standing, feedback, shortened
from grader.results.decisions.settlement import Settlement
from grader.results.decisions.settling import Settling, common
from grader.results.results import Results

_STRETCH = 20
# Columns of the text.
_WIDEST = 100


@dataclass(frozen=True, slots=True)
class Letter:
    """A submission's feedback; `downloaded_as` are the names of what its platform gave of it.

    `settled` is what its people get; `told` is what was decided and said to them, in sentences.
    """

    submission: str
    people: tuple[Author, ...]
    downloaded_as: tuple[str, ...]
    grade: Grade
    settled: Settlement
    told: tuple[str, ...]
    text: str
    page: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A submission whose feedback is not in what was written, and why, in a few words."""

    submission: str
    reason: str


def letters(
    results: Results, settling: Settling, apart: bool, to_people: bool = False
) -> Iterator[Letter | LeftOut]:
    """Yields the feedback of each submission, in the order of the class, one at a time.

    Members of a group who get different points have letters `apart`, or one that says what they
    have in common. Where they go `to_people`, and not back to where a platform has what was handed
    in, nobody gets one of which it is not certain whose it is.

    Raises:
        StoreError: if results cannot be read.
    """
    downloads = results.downloads()
    names = [outline.submission for outline in results.outlines()]
    for first in range(0, len(names), _STRETCH):
        for grade in results.grades_of(names[first : first + _STRETCH], whole=True):
            graded, settled = Graded.of(grade), settling.settle(grade)
            together = common(settled)
            if together is None:
                yield LeftOut(grade.submission, "another submission was taken instead")
                continue
            if to_people and grade.submission in settling.unsure:
                yield LeftOut(grade.submission, "its author is not certain")
                continue
            named = downloads.get(grade.submission, ())
            for one in settled if apart else (together,):
                if one.has_points or one.excused:
                    yield _letter(results.assignment, graded, one, named)
                else:
                    yield LeftOut(grade.submission, "not graded yet")


def _letter(assignment: str, graded: Graded, settled: Settlement, named: tuple[str, ...]) -> Letter:
    grade = graded.grade
    told = tuple(plain(text) for text in (*settled.comments, *settled.sentences()))
    return Letter(
        submission=grade.submission,
        people=settled.people,
        downloaded_as=named,
        grade=grade,
        settled=settled,
        told=told,
        text=_text(assignment, graded, settled, told),
        page=submission_page(assignment, graded, grade.evidence, (settled,)),
    )


def _text(assignment: str, graded: Graded, settled: Settlement, told: Sequence[str]) -> str:
    """Returns the feedback as plain text: points, decisions, and why exercises are wrong.

    Those of which nothing is to be said come last, in a line. It names no test: `feedback` does
    not.
    """
    grade, worth = graded.grade, points(points_of(settled.worth))
    score = "excused" if settled.final is None else f"{points(settled.final)} of {worth} points"
    parts = [f"{one_line(assignment)}: {score}"]
    if told:
        parts.append("\n".join(told))
    if grade.message:
        parts.append(shortened(plain(grade.message)))
    if grade.status is GradeStatus.UNREADABLE:
        return "\n\n".join([*parts, "Nothing could be graded."]) + "\n"
    right = []
    for each in graded.exercises if graded.complete else ():
        name, score = one_line(each.exercise), _points_of(each, settled)
        tests = graded.tests[each.exercise]
        if each.standing is Standing.FULL and not notes(tests):
            right.append(f"{name} ({score})")
            continue
        indented = textwrap.indent(feedback(tests, graded.causes), "  ")
        parts.append(f"{name}: {score}\n{indented}")
    if right:
        parts.append(f"Right: {', '.join(right)}")
    return "\n\n".join(map(_wrapped, parts)) + "\n"


def _wrapped(text: str) -> str:
    """Returns text with long lines broken between words, each part as deep as its line."""
    return "\n".join(part for line in text.split("\n") for part in _parts(line))


def _parts(line: str) -> Sequence[str]:
    if len(line) <= _WIDEST:
        return [line]
    words = line.lstrip()
    indent = line[: -len(words)]
    return textwrap.wrap(
        words,
        _WIDEST,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _points_of(each: ExerciseStanding, settled: Settlement) -> str:
    """Returns the points that an exercise gives in the end, as the sum has them."""
    own = settled.exercises.get(each.exercise)
    if own is None:
        return f"{points(each.score)} of {points(each.max_score)}"
    return f"{points(points_of(own.final))} of {points(points_of(own.worth))}"
