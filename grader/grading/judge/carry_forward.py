"""Rules about points: one mistake is deducted once, even if other exercises build on it.

An exercise gets points back if it is right code that is built on another exercise's wrong part. The
answers alone show that, on the graded draw, which no student can have seen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from grader.core.points import hundredths, points_of
from grader.core.verdict import TELLING_ASPECTS, Carried, Status, Verdict
from grader.grading.judge.deductions import applied, gated
from grader.grading.judge.variants import Variants, Way, tells
from grader.sandbox.claims import Uses
from grader.testing.course import Foundations
from grader.testing.outcome_cache import AnsweredCall, Ask

# At least this many telling tests must have the mistake's wrong answers.
_ENOUGH = 2


@dataclass(frozen=True, slots=True)
class CarriedPoints:
    """An account of an exercise's answers: they are those of a mistake that is made in one `way`.

    `tests` are the failed tests that would pass if the mistake counted as right. `root` is the
    exercise at which the mistake is deducted.
    """

    way: Way
    tests: frozenset[str]
    root: str = ""


@dataclass(slots=True)
class CarryForward:
    """The search, in one submission, for exercises whose lost points are deducted elsewhere.

    `asked` returns the calls that a failed test made, with their answers; `ask` makes another call.
    An exercise that another one builds on is said to be below it.
    """

    variants: Variants
    foundations: Foundations
    verdicts: Sequence[Verdict]
    asked: Callable[[str], Sequence[AnsweredCall]]
    ask: Ask
    _failed: dict[str, list[Verdict]] = field(default_factory=dict)
    _accounts: dict[tuple[str, Way], CarriedPoints | None] = field(default_factory=dict)
    _paid: dict[str, CarriedPoints | None] = field(default_factory=dict)

    def found(self) -> dict[str, CarriedPoints]:
        """Returns, by exercise, its mistake and the root at which that is deducted in full."""
        by_exercise: dict[str, list[Verdict]] = defaultdict(list)
        for verdict in self.verdicts:
            by_exercise[verdict.exercise].append(verdict)
        self._failed = {name: own for name, own in by_exercise.items() if _is_candidate(own)}
        paid = {name: self._paid_for(name) for name in self._failed}
        return {name: where for name, where in paid.items() if where is not None}

    def _paid_for(self, exercise: str) -> CarriedPoints | None:
        if exercise not in self._paid:
            self._paid[exercise] = next(self._ways_to_the_root(exercise), None)
        return self._paid[exercise]

    def _ways_to_the_root(self, exercise: str) -> Iterator[CarriedPoints]:
        """Yields an account, with its root, for each mistake that an exercise below shares."""
        for mistake, below in self._shared(exercise):
            account = self._built_on(mistake, exercise, below)
            root = None if account is None else self._root(mistake, below)
            if account is not None and root is not None:
                yield replace(account, root=root)

    def _shared(self, exercise: str) -> Iterator[tuple[str, str]]:
        """Yields each mistake that an exercise and one below can share, with the exercise below."""
        for below in self.foundations.builds_on.get(exercise, ()):
            if below in self._failed:
                yield from ((name, below) for name in self.foundations.shared(exercise, below))

    def _root(self, mistake: str, below: str) -> str | None:
        """Returns the root of the mistake below; None if another mistake is deducted there."""
        further = self._paid_for(below)
        if further is None:
            return below
        return further.root if further.way.mistake == mistake else None

    def _built_on(self, mistake: str, exercise: str, below: str) -> CarriedPoints | None:
        """Returns the way that accounts for an exercise if the one below shows the mistake.

        If both exercises know as many ways of making the mistake, the ways are the same, in the
        same order. A test of the exercise may also call the one below.
        """
        ways_below = self._ways(mistake, below)
        seen = [account.way for account in self._fitting(below, ways_below)]
        if not seen:
            return None
        ways = self._ways(mistake, exercise)
        if len(ways) == len(ways_below):
            ways = [ways[way.number] for way in seen]
        return next(self._fitting(exercise, [*ways, *seen]), None)

    def _ways(self, mistake: str, exercise: str) -> list[Way]:
        count = len(self.foundations.variants(mistake, exercise))
        return [Way(mistake, exercise, number) for number in range(count)]

    def _fitting(self, exercise: str, ways: Iterable[Way]) -> Iterator[CarriedPoints]:
        for way in ways:
            if (exercise, way) not in self._accounts:
                self._accounts[exercise, way] = self._account(self._failed[exercise], way)
            account = self._accounts[exercise, way]
            if account is not None:
                yield account

    def _account(self, verdicts: Sequence[Verdict], way: Way) -> CarriedPoints | None:
        """Returns the way's account of an exercise, if no telling answer contradicts it.

        Enough failed tests must tell. Failed tests come first: they rule out most ways at once.
        """
        failed = [one for one in verdicts if one.status is Status.FAILED]
        telling = [one for one in failed if one.aspect in TELLING_ASPECTS]
        if not all(self._is_accounted_for(one, way) for one in telling):
            return None
        if sum(self._tells(one) for one in telling) < _ENOUGH:
            return None
        others = (one for one in verdicts if one.aspect in TELLING_ASPECTS and one not in telling)
        if not all(self._is_alike(one, way) for one in others):
            return None
        rest = (one for one in failed if one.aspect not in TELLING_ASPECTS)
        fixed = [one for one in rest if self._is_accounted_for(one, way)]
        return CarriedPoints(way, frozenset(one.id for one in (*telling, *fixed)))

    def _is_accounted_for(self, failed: Verdict, way: Way) -> bool:
        asked = self.asked(failed.id)
        return bool(asked) and self.variants.accounts_for(failed.id, way, asked, self.ask)

    def _tells(self, failed: Verdict) -> bool:
        asked = self.asked(failed.id)
        return bool(asked) and all(map(tells, asked))

    def _is_alike(self, verdict: Verdict, way: Way) -> bool:
        """Returns whether a test that passed or raised has the same outcome with the mistake."""
        if verdict.status not in (Status.PASSED, Status.ERROR):
            return False
        return self.variants.status(verdict.id, way) is verdict.status


def carried_points(
    verdicts: Sequence[Verdict],
    found: Mapping[str, CarriedPoints],
    uses: Uses,
    costs: Mapping[str, float],
    percent: float,
) -> tuple[Carried, ...]:
    """Returns the points that each exercise gets back: `percent` of the mistake's cost there.

    `verdicts` are the final ones. Wrong values and forbidden calls reduce these points as well.
    """
    carried = []
    for exercise, paid in found.items():
        own = [one for one in verdicts if one.exercise == exercise]
        as_if = applied(tuple(gated(_as_if(one, paid.tests) for one in own)), uses, costs)
        then, now = (sum(hundredths(one.score) for one in tests) for tests in (as_if, own))
        points = points_of(int((then - now) * percent / 100 + 0.5))
        if points > 0:
            carried.append(Carried(exercise, paid.root, paid.way.mistake, points))
    return tuple(carried)


def _as_if(verdict: Verdict, fixed: frozenset[str]) -> Verdict:
    """Returns a verdict before any rule; a test that the mistake accounts for counts as passed."""
    passed = verdict.status is Status.PASSED or verdict.id in fixed
    status = Status.PASSED if passed else verdict.status
    return verdict._replace(status=status, score=verdict.max_score if passed else 0.0)


def _is_candidate(verdicts: Iterable[Verdict]) -> bool:
    return (
        sum(one.status is Status.FAILED and one.aspect in TELLING_ASPECTS for one in verdicts)
        >= _ENOUGH
    )
