"""The comparison of two batches over one class: who went up or down, where, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from operator import attrgetter

from grader.core.causes import without_numbers
from grader.core.points import total
from grader.core.text import first_line, one_line, points, quantity
from grader.core.verdict import Grade, GradeStatus, Status, Verdict, by_exercise, name_of_test
from grader.reports.pages.graded import Graded
from grader.reports.pages.rendering import assets, render
from grader.reports.single import credited_tests

_LONGEST = 160
_LONGEST_NAME = 80
_REASONS = 3
_EPSILON = 1e-6


@dataclass(frozen=True, slots=True)
class ExerciseChange:
    """An exercise in which a submission's points or verdicts changed, with the reasons."""

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
    """The differences from an earlier batch, filled with the later batch's grades one by one.

    `tests` holds, by a test's id, exercise and name, its changes of outcome with their numbers.
    """

    same: int = 0
    up: list[GradeChange] = field(default_factory=list)
    down: list[GradeChange] = field(default_factory=list)
    alike: list[GradeChange] = field(default_factory=list)
    regraded: list[GradeChange] = field(default_factory=list)
    new: list[GradeChange] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    exercises: dict[str, Counter[str]] = field(default_factory=dict)
    tests: dict[tuple[str, str, str], Counter[str]] = field(default_factory=dict)
    _scores: list[tuple[float, float]] = field(default_factory=list)

    def add(self, graded: Graded, earlier: Grade | None, counts: bool = True) -> None:
        """Adds a grade of the later batch, with the earlier batch's grade if there is one.

        `counts` is whether the later batch's mean includes the submission.
        """
        grade, page = graded.grade, graded.page
        name, score = one_line(grade.submission, _LONGEST_NAME), _score(grade)
        if earlier is None:
            self.new.append(GradeChange(name, page, None, score, ()))
            return
        tests = {test.id: test for test in credited_tests(earlier)}
        self._count_tests(grade, tests)
        was = _score(earlier)
        found = tuple(self._exercises(graded, earlier, tests))
        change = GradeChange(name, page, was, score, found, _reason(grade, earlier))
        if score is None or was is None:
            if score is None and was is None:
                self.same += 1
            else:
                self.regraded.append(change)
            return
        if counts and {grade.status, earlier.status} == {GradeStatus.GRADED}:
            self._scores.append((was, score))
        for one in found:
            if abs(one.after - one.before) > _EPSILON:
                ways = self.exercises.setdefault(one.exercise, Counter())
                ways["up" if one.after > one.before else "down"] += 1
        if abs(change.difference) > _EPSILON:
            (self.up if change.difference > 0 else self.down).append(change)
        elif found or change.reason:
            self.alike.append(change)
        else:
            self.same += 1

    def add_gone(self, names: Iterable[str]) -> None:
        """Adds submissions that are in the earlier batch only."""
        self.gone += [one_line(name, _LONGEST_NAME) for name in names]

    @property
    def means(self) -> tuple[float, float] | None:
        """Returns the mean scores before and after, of the submissions graded in both batches."""
        if not self._scores:
            return None
        before, after = zip(*self._scores, strict=True)
        return sum(before) / len(before), sum(after) / len(after)

    def _count_tests(self, grade: Grade, before: Mapping[str, Verdict]) -> None:
        for test in grade.tests:
            was = before.get(test.id)
            if was is not None and was.status is not test.status:
                name = one_line(name_of_test(test.id), _LONGEST)
                ways = self.tests.setdefault((test.id, one_line(test.exercise), name), Counter())
                ways[f"{_said(was.status)} → {_said(test.status)}"] += 1

    def _exercises(
        self, graded: Graded, earlier: Grade, tests: Mapping[str, Verdict]
    ) -> Iterator[ExerciseChange]:
        before, now = _points(earlier), _points(graded.grade)
        for exercise in before | now:
            was, got = before.get(exercise, 0.0), now.get(exercise, 0.0)
            reasons = tuple(_reasons(graded.tests.get(exercise, ()), tests))
            if abs(got - was) > _EPSILON:
                reasons = reasons or ("it has other tests than before",)
            if reasons:
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
    pairs = [(before.get(test.id), test) for test in tests]
    named = {_mistake(was) for was, _ in pairs if was} ^ {_mistake(test) for _, test in pairs}
    reasons = Counter(reason for was, test in pairs for reason in _reasons_of(was, test, named))
    for reason, count in reasons.most_common(_REASONS):
        yield f"{reason} ({count} tests)" if count > 1 else reason
    if len(reasons) > _REASONS:
        yield f"and {quantity(len(reasons) - _REASONS, 'other reason')}"


def _reasons_of(was: Verdict | None, now: Verdict, named: Set[str]) -> Iterable[str]:
    """Returns why a test changed; `named` are the mistakes of one batch only, in its exercise."""
    if was is None:
        return [f"a new test: {_said(now.status)}{_because(now)}"]
    if was.status is not now.status:
        return [f"{_said(was.status)} → {_said(now.status)}{_because(now)}"]
    if _mistake(was) != _mistake(now) and {_mistake(was), _mistake(now)} & named - {""}:
        return [f"{_mistake(was) or 'no known mistake'} → {_mistake(now) or 'no known mistake'}"]
    if abs(was.score - now.score) > _EPSILON and was.max_score != now.max_score:
        return [f"worth {points(was.max_score)} → {points(now.max_score)} points"]
    if abs(was.score - now.score) > _EPSILON:
        return [f"{points(was.score)} → {points(now.score)} points{_because(now)}"]
    if _mistake(was) or _mistake(now) or was.message == now.message:
        return []
    before, message = _message(was), _message(now)
    is_same = without_numbers(before) == without_numbers(message)
    return [] if is_same else [f"“{before}” → “{message}”"]


def _mistake(test: Verdict) -> str:
    return one_line(test.diagnosis.mistake) if test.diagnosis else ""


def _message(told: Verdict | Grade) -> str:
    return one_line(first_line(told.message), _LONGEST)


def _because(now: Verdict) -> str:
    """Returns the mistake with its id, or else the message, after a colon; "" if it passed."""
    said = _message(now)
    if now.diagnosis:
        said = f"{one_line(now.diagnosis.explanation, _LONGEST)} [{_mistake(now)}]"
    return f": {said}" if said and now.status is not Status.PASSED else ""


def _said(status: Status | GradeStatus) -> str:
    return status.value.replace("_", " ")


_STYLES = ("assets/page.css", "assets/class.css", "assets/changes.css")
_SCRIPTS = ("assets/theme.js", "assets/changes.js")
_TESTS = 200


def changes_page(assignment: str, changes: Changes) -> str:
    """Returns the page of differences from an earlier batch, the greatest first."""
    tests = sorted(changes.tests.items(), key=lambda each: -each[1].total())
    return render(
        "changes.html.jinja",
        assets=assets(_STYLES, _SCRIPTS),
        assignment=one_line(assignment),
        changes=changes,
        up=sorted(changes.up, key=attrgetter("difference"), reverse=True),
        down=sorted(changes.down, key=attrgetter("difference")),
        exercises=sorted(changes.exercises.items(), key=lambda each: -each[1].total()),
        tests=tests[:_TESTS],
        more_tests=max(len(tests) - _TESTS, 0),
    )
