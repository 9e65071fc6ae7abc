"""The comparison of two batches over one class: who went up or down, where, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from grader.core.points import total
from grader.core.text import first_line, one_line, points, quantity
from grader.core.verdict import Grade, GradeStatus, Status, Verdict, by_exercise
from grader.reports.pages.class_data import Graded
from grader.reports.pages.rendering import assets, render
from grader.reports.single import credited_tests

_LONGEST = 160
_LONGEST_NAME = 80
_REASONS = 3
_EPSILON = 1e-6


@dataclass(frozen=True, slots=True)
class ExerciseChange:
    """An exercise in which a submission's points changed, with the reasons."""

    exercise: str
    before: float
    after: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GradeChange:
    """A submission whose grade changed; a score is None if there is no grade."""

    name: str
    page: str
    before: float | None
    after: float | None
    exercises: tuple[ExerciseChange, ...]
    reason: str = ""

    @property
    def difference(self) -> float:
        """Returns the points that the submission gained; negative if it lost points."""
        return (self.after or 0.0) - (self.before or 0.0)


@dataclass(slots=True)
class Changes:
    """The differences from an earlier batch, filled with the later batch's grades one by one."""

    same: int = 0
    up: list[GradeChange] = field(default_factory=list)
    down: list[GradeChange] = field(default_factory=list)
    regraded: list[GradeChange] = field(default_factory=list)
    new: list[GradeChange] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    exercises: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, graded: Graded, earlier: Grade | None) -> None:
        """Adds a grade of the later batch, with the earlier batch's grade if there is one."""
        grade, page = graded.grade, graded.page
        name, score = one_line(grade.submission, _LONGEST_NAME), _score(grade)
        if earlier is None:
            self.new.append(GradeChange(name, page, None, score, ()))
            return
        was, found = _score(earlier), tuple(_exercises(graded, earlier))
        change = GradeChange(name, page, was, score, found, _reason(grade, earlier))
        if was != score and None in (was, score):
            self.regraded.append(change)
            return
        for one in found:
            ways = self.exercises.setdefault(one.exercise, Counter())
            ways["up" if one.after > one.before else "down"] += 1
        if abs(change.difference) <= _EPSILON:
            self.same += 1
        else:
            (self.up if change.difference > 0 else self.down).append(change)

    def add_gone(self, names: Iterable[str]) -> None:
        """Adds submissions that are in the earlier batch only."""
        self.gone += [one_line(name, _LONGEST_NAME) for name in names]


def _exercises(graded: Graded, earlier: Grade) -> Iterator[ExerciseChange]:
    tests = {test.id: test for test in credited_tests(earlier)}
    before, now = _points(earlier), _points(graded.grade)
    for exercise in before | now:
        was, got = before.get(exercise, 0.0), now.get(exercise, 0.0)
        if abs(got - was) > _EPSILON:
            reasons = tuple(_reasons(graded.tests.get(exercise, ()), tests))
            reasons = reasons or ("it has other tests than before",)
            yield ExerciseChange(one_line(exercise), was, got, reasons)


def _score(grade: Grade) -> float | None:
    return grade.final if grade.is_complete else None


def _points(grade: Grade) -> dict[str, float]:
    """Returns the points of each exercise, with those that were carried forward."""
    tests = by_exercise(credited_tests(grade))
    return {exercise: total(one.score for one in own) for exercise, own in tests.items()}


def _reason(grade: Grade, before: Grade) -> str:
    if grade.status is before.status:
        return ""
    message = f": {_message(grade)}" if grade.message else ""
    return f"{_said(before.status)} → {_said(grade.status)}{message}"


def _reasons(tests: Iterable[Verdict], before: Mapping[str, Verdict]) -> Iterator[str]:
    """Yields the different reasons for an exercise's change, the commonest first."""
    reasons = Counter(reason for test in tests for reason in _reasons_of(before.get(test.id), test))
    for reason, count in reasons.most_common(_REASONS):
        yield f"{reason} ({count} tests)" if count > 1 else reason
    if len(reasons) > _REASONS:
        yield f"and {quantity(len(reasons) - _REASONS, 'other reason')}"


def _reasons_of(was: Verdict | None, now: Verdict) -> Iterable[str]:
    """Returns why the points of a test changed, if they did."""
    if was is None:
        return [f"a new test: {_said(now.status)}{_because(now)}"]
    if was.status is not now.status:
        return [f"{_said(was.status)} → {_said(now.status)}{_because(now)}"]
    if abs(was.score - now.score) <= _EPSILON:
        return []
    if was.max_score != now.max_score:
        return [f"worth {points(was.max_score)} → {points(now.max_score)} points"]
    return [f"{points(was.score)} → {points(now.score)} points{_because(now)}"]


def _message(told: Verdict | Grade) -> str:
    return one_line(first_line(told.message), _LONGEST)


def _because(now: Verdict) -> str:
    """Returns the mistake with its id, or else the message, after a colon; "" if it passed."""
    said = _message(now)
    if now.diagnosis:
        said = (
            f"{one_line(now.diagnosis.explanation, _LONGEST)} [{one_line(now.diagnosis.mistake)}]"
        )
    return f": {said}" if said and now.status is not Status.PASSED else ""


def _said(status: Status | GradeStatus) -> str:
    return status.value.replace("_", " ")


_STYLES = ("assets/page.css", "assets/class.css", "assets/changes.css")
_SCRIPTS = ("assets/theme.js", "assets/changes.js")


def changes_page(assignment: str, changes: Changes) -> str:
    """Returns the page of differences from an earlier batch, the greatest first."""
    return render(
        "changes.html.jinja",
        assets=assets(_STYLES, _SCRIPTS),
        assignment=one_line(assignment),
        changes=changes,
        up=sorted(changes.up, key=attrgetter("difference"), reverse=True),
        down=sorted(changes.down, key=attrgetter("difference")),
        exercises=sorted(changes.exercises.items(), key=lambda each: -each[1].total()),
    )
