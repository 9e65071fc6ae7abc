"""One submission's page, which is safe to send to its authors.

Each cause is told once, with one message; the other tests that it fails are folded. The page names
no other submission, nothing of the class, and links nowhere. It shows neither the names of hidden
tests nor the values that they expect.

The page's script draws tensors.
"""

from __future__ import annotations

import array
import base64
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from grader.core.causes import Cause, Place
from grader.core.evidence import Evidence, Excerpt, Picture
from grader.core.explanation import lack_in_words
from grader.core.text import one_line, plain, points
from grader.core.verdict import Grade, GradeStatus, Status, Visibility, name_of_test
from grader.reports.pages.class_data import Graded
from grader.reports.pages.rendering import as_json, assets, render
from grader.reports.standing import cost, extent, message_below, notes_in_short, shortened
from grader.results.decisions.settlement import Settlement

# Limits of one page: a class of thousands must fit on a disk, and a page in a mail.
_MOST_NUMBERS = 3072
_MOST_DRAWINGS = 3


def _drawing(picture: Picture) -> dict[str, str]:
    """Returns a picture's caption, its shape, and its data as JSON for a script element."""
    names = [one_line(name, 60) or f"axis {place}" for place, name in enumerate(picture.axes)]
    names += [f"axis {place}" for place in range(len(names), len(picture.shape))]
    data = {
        "axes": names[: len(picture.shape)],
        "shape": picture.shape,
        "expected": _packed(picture.expected),
        "got": _packed(picture.got),
    }
    shape = " × ".join(map(str, picture.shape)) or "one number"
    test = one_line(name_of_test(picture.test), 120)
    caption = f"{test}: {one_line(picture.what, 120)}"
    return {"caption": caption, "shape": shape, "data": as_json(data)}


def _packed(numbers: Sequence[float]) -> str:
    """Returns the numbers as little-endian float32 in base64; larger ones become infinite."""
    packed = array.array("f", numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return base64.b64encode(packed.tobytes()).decode()


_STYLES = ("assets/page.css", "assets/submission.css")
_SCRIPTS = ("assets/theme.js",)
_DRAWING = (*_SCRIPTS, "assets/pictures.js")


# Lines around a place in the submission: the file, the place's line, the first line, all lines.
_Source = tuple[str, int, int, Sequence[str]]


def submission_page(
    assignment: str, graded: Graded, evidence: Evidence, settled: tuple[Settlement, ...]
) -> str:
    """Returns a submission's page; members with different points read none of them there."""
    grade, own = graded.grade, settled[0] if len(settled) == 1 else None
    graded = graded.after_decisions(own) if own else graded
    unreadable = grade.status is GradeStatus.UNREADABLE
    causes = [] if unreadable or not grade.is_complete else graded.causes
    page = _PageEvidence(grade, evidence)
    told = [page.told(cause) for cause in causes]
    # If several causes fail an exercise, the first one counts.
    numbered = reversed([*enumerate(causes)])
    cause_of = {exercise: place for place, cause in numbered for exercise in cause.exercises}
    draws = any(each["drawings"] for each in told)
    return render(
        "submission.html.jinja",
        assets=assets(_STYLES, _DRAWING if draws else _SCRIPTS),
        assignment=one_line(assignment),
        grade=grade,
        settled=own,
        differ=len(settled) > 1,
        final={
            name: points(each.final / 100)
            for name, each in (own.exercises.items() if own else ())
            if each.final != each.machine
        },
        name=one_line(grade.submission),
        people=one_line(", ".join(who.name for one in settled for who in one.people), 200),
        complete=grade.is_complete,
        unreadable=unreadable,
        words=one_line("; ".join(graded.phrases), 300),
        message=shortened(plain(grade.message or "")),
        problem=page.first_source() if unreadable else None,
        exercises=[] if unreadable else graded.exercises,
        causes=told,
        cause_of=cause_of,
        remarks=[
            (shortened(plain(note)), [*dict.fromkeys(one_line(test.exercise) for test in noted)])
            for note, noted in notes_in_short(itertools.chain(*graded.tests.values())).items()
        ],
        unexplained=lack_in_words(one_line(grade.unexplained)) if grade.unexplained else "",
        printed=plain(evidence.printed).strip("\n"),
    )


class _PageEvidence:
    """The evidence that a page shows of each cause; each picture is shown once."""

    def __init__(self, grade: Grade, evidence: Evidence) -> None:
        self._tests = grade.tests
        self._public = frozenset(t.id for t in grade.tests if t.visibility is Visibility.PUBLIC)
        self._excerpts = evidence.excerpts
        self._walks = {(walk.exercise, walk.test): walk for walk in evidence.walks}
        sound = (p for p in evidence.pictures if p.test in self._public and p.is_sound)
        self._pictures = {picture.test: picture for picture in sound}
        self._room = _MOST_NUMBERS

    def told(self, cause: Cause) -> dict[str, Any]:
        """Returns a cause with everything that the page shows of it."""
        own = [test.id for test in (cause.shown, *cause.tests) if test.id in self._public]
        is_written = cause.shown.status is not Status.MISSING
        walks = (self._walks.get((test.exercise, test.id)) for test in cause.tests)
        return {
            "cause": cause,
            "cost": cost(cause),
            "message": shortened(plain(message_below(cause))) if is_written else "",
            "source": self._first_excerpt(cause.places) if is_written else None,
            "walk": next(filter(None, walks), None),
            "drawings": [*self._drawings(own)],
            "fails": extent(cause),
            "failing": [*self._failing(cause)],
        }

    def _drawings(self, tests: Sequence[str]) -> Iterator[dict[str, str]]:
        """Yields the pictures of some of the tests, none of them again."""
        known = [test for test in tests if test in self._pictures]
        found = 0
        for test in dict.fromkeys(known):
            size = len(self._pictures[test].got)
            if found < _MOST_DRAWINGS and size <= self._room:
                found += 1
                self._room -= size
                yield _drawing(self._pictures.pop(test))

    def first_source(self) -> _Source | None:
        """Returns the lines that explain why nothing could be read."""
        return self._first_excerpt([(t.where.file, t.where.line) for t in self._tests if t.where])

    def _first_excerpt(self, places: Iterable[Place]) -> _Source | None:
        """Returns the lines around the first place that an excerpt holds."""
        found = (_excerpt_around(self._excerpts, *place) for place in places)
        return next(filter(None, found), None)

    def _failing(self, cause: Cause) -> Iterator[tuple[str, list[str], int]]:
        """Yields the exercises, each with its public tests and the number of its hidden ones."""
        for exercise in cause.exercises:
            tests = [test.id for test in cause.tests if test.exercise == exercise]
            own = [one_line(name_of_test(test), 160) for test in tests if test in self._public]
            yield one_line(exercise), own, len(tests) - len(own)


def _excerpt_around(excerpts: Iterable[Excerpt], file: str, line: int) -> _Source | None:
    """Returns the excerpt whose middle is nearest to a place, if any holds it."""
    around = [
        excerpt
        for excerpt in excerpts
        if excerpt.file == file and 0 <= line - excerpt.first < len(excerpt.lines)
    ]
    if not around:
        return None
    best = min(around, key=lambda e: abs(e.first + len(e.lines) / 2 - line))
    # A line break of another kind within a line would move every line after it.
    lines = [plain(text).replace("\n", " ") for text in best.lines]
    return one_line(best.file), line, best.first, lines
