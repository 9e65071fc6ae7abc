"""One submission's page, which is safe to send to whom it belongs to.

It names no other submission and nothing of the class, links nowhere, and says of hidden tests what
other feedback says of them too: never their names, and no number that they expect.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from grader.evidence import Evidence, Excerpt, Walk
from grader.pages.of_submission.graded import Graded
from grader.pages.of_submission.highlighting import Line, highlighted
from grader.pages.of_submission.pictures import Album, Drawing
from grader.pages.rendering import assets, render
from grader.plain_text import plain
from grader.report.failures import Failure, failures, notes
from grader.report.feedback import shortened
from grader.report.standing import ExerciseStanding, Standing
from grader.report.text import one_line
from grader.verdict import Grade, GradeStatus, Verdict, Visibility, Where
from grader.words import lack_in_words

_FAILURES = 5
_TESTS = 8
_STYLES = ("assets/page.css", "assets/submission.css")
_SCRIPTS = ("assets/theme.js",)
_DRAWING = (*_SCRIPTS, "assets/pictures.js")


@dataclass(frozen=True, slots=True)
class Source:
    """Lines around a place in the submission; none where the page has them already.

    `number` tells the sources of a page apart.
    """

    number: int
    file: str
    line: int
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Explained:
    """A failure with all that there is to see of it.

    `tests` are the names of those that students hold; of the others only the number is told.
    """

    outcome: str
    mistake: str
    explanation: str
    hint: str
    message: str
    place: str
    source: Source | None
    tests: tuple[str, ...]
    more_tests: int
    hidden_tests: int
    drawings: tuple[Drawing, ...]
    walk: Walk | None


@dataclass(frozen=True, slots=True)
class Section:
    """An exercise in which something went wrong."""

    standing: ExerciseStanding
    message: str
    failures: tuple[Explained, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Remark:
    """A note on tests that passed, such as a call that the assignment wants written by hand."""

    text: str
    exercises: tuple[str, ...]


def submission_page(assignment: str, graded: Graded, evidence: Evidence) -> str:
    """The page of a submission."""
    grade, exercises = graded.grade, graded.exercises
    unreadable = grade.status is GradeStatus.UNREADABLE
    sections: list[Section] = []
    if not unreadable and graded.complete:
        looking = _Looking(grade, evidence)
        unsound = (each for each in exercises if each.standing is not Standing.FULL)
        sections = [looking.section(each, graded.tests[each.exercise]) for each in unsound]
    draws = any(failure.drawings for section in sections for failure in section.failures)
    return render(
        "submission.html.jinja",
        assets=assets(_STYLES, _DRAWING if draws else _SCRIPTS),
        assignment=one_line(assignment),
        grade=grade,
        name=one_line(grade.submission),
        complete=graded.complete,
        unreadable=unreadable,
        words=one_line(graded.words, 300),
        message=shortened(plain(grade.message or "")),
        problem=_first_source(evidence.excerpts, grade.tests) if unreadable else None,
        exercises=[] if unreadable else exercises,
        sections=sections,
        remarks=_remarks(grade.tests),
        unexplained=lack_in_words(one_line(grade.unexplained)) if grade.unexplained else "",
        printed=plain(evidence.printed).strip("\n"),
    )


class _Looking:
    """Finds what there is to see of each failure; a picture or a walk is shown once."""

    def __init__(self, grade: Grade, evidence: Evidence) -> None:
        public = frozenset(t.id for t in grade.tests if t.visibility is Visibility.PUBLIC)
        self._message = grade.message
        self._excerpts = evidence.excerpts
        self._shown: dict[tuple[str, int], Source] = {}
        self._walks = {walk.exercise: walk for walk in reversed(evidence.walks)}
        self._album = Album(evidence.pictures, public)

    def section(self, standing: ExerciseStanding, tests: Sequence[Verdict]) -> Section:
        """What went wrong in an exercise."""
        if standing.standing is Standing.MISSING:
            return Section(standing, shortened(plain(tests[0].message or "")), (), 0)
        found = sorted(failures(tests), key=lambda failure: -failure.lost)
        shown = tuple(self._explained(failure) for failure in found[:_FAILURES])
        return Section(standing, "", shown, len(found) - len(shown))

    def _explained(self, failure: Failure) -> Explained:
        diagnosis, where = failure.diagnosis, failure.where
        own = [v.id for v in failure.verdicts if v.visibility is Visibility.PUBLIC]
        return Explained(
            outcome=failure.outcome,
            mistake=one_line(diagnosis.mistake) if diagnosis else "",
            explanation=plain(diagnosis.explanation) if diagnosis else "",
            hint=plain(diagnosis.hint) if diagnosis else "",
            message=shortened(plain(failure.message or "")),
            place=_place(where),
            source=self._source(where),
            tests=tuple(one_line(test.partition("::")[2] or test, 160) for test in own[:_TESTS]),
            more_tests=max(len(own) - _TESTS, 0),
            hidden_tests=len(failure.verdicts) - len(own),
            drawings=self._album.of(own),
            walk=self._walk(failure),
        )

    def _source(self, where: Where | None) -> Source | None:
        """The lines around a place, the first time that it is asked for."""
        if where is None:
            return None
        place = where.file, where.line
        if place in self._shown:
            return replace(self._shown[place], lines=())
        source = _source(self._excerpts, where, len(self._shown))
        if source is not None:
            self._shown[place] = source
        return source

    def _walk(self, failure: Failure) -> Walk | None:
        walk = self._walks.get(failure.exercise)
        if walk is None or walk.test not in {verdict.id for verdict in failure.verdicts}:
            return None
        return self._walks.pop(failure.exercise)


def _place(where: Where | None) -> str:
    if where is None:
        return ""
    step = f", where “{one_line(where.step)}” goes astray" if where.step else ""
    return f"{one_line(where.file)}, line {where.line}{step}"


def _source(excerpts: Iterable[Excerpt], where: Where, number: int) -> Source | None:
    """The lines around a place, as close to its middle as there are."""
    around = [
        excerpt
        for excerpt in excerpts
        if excerpt.file == where.file and 0 <= where.line - excerpt.first < len(excerpt.lines)
    ]
    if not around:
        return None
    best = min(around, key=lambda e: abs(e.first + len(e.lines) / 2 - where.line))
    return Source(number, one_line(best.file), where.line, highlighted(best, where.line))


def _first_source(excerpts: Sequence[Excerpt], tests: Iterable[Verdict]) -> Source | None:
    places = (_source(excerpts, test.where, 0) for test in tests if test.where)
    return next((source for source in places if source), None)


def _remarks(tests: Iterable[Verdict]) -> list[Remark]:
    return [
        Remark(shortened(plain(note)), tuple(dict.fromkeys(one_line(v.exercise) for v in noted)))
        for note, noted in notes(tests).items()
    ]
