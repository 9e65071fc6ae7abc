"""One submission's page, which is safe to send to whom it belongs to.

It is as long as there are causes: each is told once, with one message, and what else it fails is
folded. It names no other submission and nothing of the class, links nowhere, and says of hidden
tests what other feedback says of them too: never their names, and no number that they expect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.core.causes import Cause, Place
from grader.core.evidence import Evidence, Excerpt, StepWalk
from grader.core.explanation import lack_in_words
from grader.core.text import one_line, plain
from grader.core.verdict import Grade, GradeStatus, Status, Verdict, Visibility
from grader.reports.cause_text import cost, extent, message_below, notes_in_short
from grader.reports.pages.drawing import Album, Drawing, SourceLine, highlighted
from grader.reports.pages.graded import Graded, settled_in_words
from grader.reports.pages.rendering import assets, render
from grader.reports.standing import shortened
from grader.results.decisions.settlement import Settlement

_TESTS = 8
_STYLES = ("assets/page.css", "assets/submission.css")
_SCRIPTS = ("assets/theme.js",)
_DRAWING = (*_SCRIPTS, "assets/pictures.js")


@dataclass(frozen=True, slots=True)
class SourceExcerpt:
    """Lines around a place in the submission."""

    file: str
    line: int
    lines: tuple[SourceLine, ...]


@dataclass(frozen=True, slots=True)
class Failing:
    """An exercise that a cause fails.

    `tests` are the names of those that students hold; of the others only the number is told.
    """

    exercise: str
    tests: tuple[str, ...]
    more_tests: int
    hidden_tests: int


@dataclass(frozen=True, slots=True)
class ToldCause:
    """A cause with all that there is to see of it."""

    title: str
    mistake: str
    extent: str
    cost: str
    hint: str
    message: str
    place: str
    source: SourceExcerpt | None
    walk: StepWalk | None
    drawings: tuple[Drawing, ...]
    fails: str
    failing: tuple[Failing, ...]


@dataclass(frozen=True, slots=True)
class TestNote:
    """A note on tests that passed, such as a call that the assignment wants written by hand."""

    text: str
    exercises: tuple[str, ...]


def submission_page(
    assignment: str, graded: Graded, evidence: Evidence, settled: tuple[Settlement, ...]
) -> str:
    """Returns a submission's page; for members with different points, the common part."""
    grade = graded.grade
    unreadable = grade.status is GradeStatus.UNREADABLE
    causes = [] if unreadable or not graded.complete else graded.causes
    looking = _Looking(grade, evidence)
    told = [looking.told(cause) for cause in causes]
    draws = any(each.drawings for each in told)
    return render(
        "submission.html.jinja",
        assets=assets(_STYLES, _DRAWING if draws else _SCRIPTS),
        assignment=one_line(assignment),
        grade=grade,
        settled=settled_in_words(settled),
        name=one_line(grade.submission),
        people=_people(settled),
        complete=graded.complete,
        unreadable=unreadable,
        words=one_line("; ".join(graded.phrases), 300),
        message=shortened(plain(grade.message or "")),
        problem=looking.first_source() if unreadable else None,
        exercises=[] if unreadable else graded.exercises,
        causes=told,
        cause_of=_cause_of(causes),
        remarks=_remarks(grade.tests),
        unexplained=lack_in_words(one_line(grade.unexplained)) if grade.unexplained else "",
        printed=plain(evidence.printed).strip("\n"),
    )


def _people(settled: Iterable[Settlement]) -> str:
    """Returns the names of those whom a submission counts for, as far as they have one."""
    return one_line(", ".join(person.name for one in settled for person in one.people), 200)


class _Looking:
    """Finds what there is to see of each cause; a picture or a walk is shown once."""

    def __init__(self, grade: Grade, evidence: Evidence) -> None:
        self._tests = grade.tests
        self._public = frozenset(t.id for t in grade.tests if t.visibility is Visibility.PUBLIC)
        self._excerpts = evidence.excerpts
        self._walks = evidence.walks
        self._album = Album(evidence.pictures, self._public)

    def told(self, cause: Cause) -> ToldCause:
        """Returns a cause in full."""
        own = [test.id for test in (cause.shown, *cause.tests) if test.id in self._public]
        is_written = cause.shown.status is not Status.MISSING
        return ToldCause(
            title=one_line(cause.title, 400),
            mistake=one_line(cause.id) if cause.id else "",
            extent=one_line(cause.extent),
            cost=cost(cause),
            hint=plain(cause.hint),
            message=shortened(plain(message_below(cause))) if is_written else "",
            place=one_line(cause.lines, 300),
            source=self._source(cause.places) if is_written else None,
            walk=self._walk(cause),
            drawings=self._album.of(own),
            fails=extent(cause),
            failing=tuple(self._failing(cause)),
        )

    def first_source(self) -> SourceExcerpt | None:
        """Returns the lines that explain why nothing could be read."""
        return self._source([(t.where.file, t.where.line) for t in self._tests if t.where])

    def _source(self, places: Iterable[Place]) -> SourceExcerpt | None:
        """Returns the lines around the first of the places that there are."""
        return next(filter(None, (_source(self._excerpts, *place) for place in places)), None)

    def _walk(self, cause: Cause) -> StepWalk | None:
        """Returns the walk of the exercise that is nearest to the root."""
        walks = {(walk.exercise, walk.test): walk for walk in self._walks}
        return next(
            (walks[key] for test in cause.tests if (key := (test.exercise, test.id)) in walks),
            None,
        )

    def _failing(self, cause: Cause) -> Iterator[Failing]:
        for exercise in cause.exercises:
            tests = [test.id for test in cause.tests if test.exercise == exercise]
            own = [test for test in tests if test in self._public]
            yield Failing(
                one_line(exercise),
                tuple(one_line(test.partition("::")[2] or test, 160) for test in own[:_TESTS]),
                max(len(own) - _TESTS, 0),
                len(tests) - len(own),
            )


def _source(excerpts: Iterable[Excerpt], file: str, line: int) -> SourceExcerpt | None:
    """Returns the lines around a place, as close to its middle as there are."""
    around = [
        excerpt
        for excerpt in excerpts
        if excerpt.file == file and 0 <= line - excerpt.first < len(excerpt.lines)
    ]
    if not around:
        return None
    best = min(around, key=lambda e: abs(e.first + len(e.lines) / 2 - line))
    return SourceExcerpt(one_line(best.file), line, highlighted(best, line))


def _cause_of(causes: Sequence[Cause]) -> dict[str, int]:
    """Returns, by exercise, the place of the first cause that fails it."""
    found: dict[str, int] = {}
    for place, cause in enumerate(causes):
        for exercise in cause.exercises:
            found.setdefault(exercise, place)
    return found


def _remarks(tests: Iterable[Verdict]) -> list[TestNote]:
    return [
        TestNote(shortened(plain(note)), tuple(dict.fromkeys(one_line(v.exercise) for v in noted)))
        for note, noted in notes_in_short(tests).items()
    ]
