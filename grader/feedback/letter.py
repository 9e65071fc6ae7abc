"""What the people behind one submission are sent: a page and a text, of nobody else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.pages.of_submission.graded import Graded
from grader.pages.of_submission.submission_page import submission_page
from grader.plain_text import plain
from grader.report.feedback import feedback, shortened
from grader.report.text import one_line, points
from grader.store import Results
from grader.submission import Author
from grader.verdict import Grade, GradeStatus

_STRETCH = 20


@dataclass(frozen=True, slots=True)
class Letter:
    """A submission's feedback; `downloaded_as` are the names of what its platform gave of it."""

    submission: str
    people: tuple[Author, ...]
    downloaded_as: tuple[str, ...]
    grade: Grade
    score: str
    text: str
    page: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A submission whose feedback is not in what was written, and why, in a few words."""

    submission: str
    reason: str


def letters(results: Results) -> Iterator[Letter | LeftOut]:
    """The feedback of each submission, in the order of the class, one at a time.

    Raises:
        StoreError: if results cannot be read.
    """
    downloads = results.downloads()
    names = [outline.submission for outline in results.outlines()]
    for first in range(0, len(names), _STRETCH):
        for grade in results.grades_of(names[first : first + _STRETCH], whole=True):
            yield _letter(results, grade, downloads)


def _letter(
    results: Results, grade: Grade, downloads: Mapping[str, tuple[str, ...]]
) -> Letter | LeftOut:
    graded = Graded.of(grade)
    if not graded.complete:
        return LeftOut(grade.submission, "not graded yet")
    name = grade.submission
    score = f"{points(grade.score)} of {points(grade.max_score)} points"
    return Letter(
        submission=name,
        people=results.authors.get(name, ()),
        downloaded_as=downloads.get(name, ()),
        grade=grade,
        score=score,
        text=_text(results.assignment, graded, score),
        page=submission_page(results.assignment, graded, grade.evidence),
    )


def _text(assignment: str, graded: Graded, score: str) -> str:
    """The feedback as plain text: the score, and each exercise with why it is not right.

    It names no test: `feedback` does not.
    """
    grade = graded.grade
    parts = [f"{one_line(assignment)}: {score}"]
    if grade.message:
        parts.append(shortened(plain(grade.message)))
    if grade.status is GradeStatus.UNREADABLE:
        return "\n\n".join([*parts, "Nothing could be graded."]) + "\n"
    for each in graded.exercises:
        title = f"{one_line(each.exercise)}: {points(each.score)} of {points(each.max_score)}"
        told = feedback(graded.tests[each.exercise], graded.causes)
        indented = "\n".join(f"  {line}".rstrip() for line in told.split("\n"))
        parts.append(f"{title}\n{indented}")
    return "\n\n".join(parts) + "\n"
