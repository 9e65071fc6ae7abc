"""Computes each person's points from the tests' points, by decisions and rules.

`Settling` holds the data of a class. `PersonsPoints` changes one person's points step by step.
`effects` lists whose points each decision changed, and who reads its comment.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from grader.core.late_rule import LateRule
from grader.core.names import natural_order
from grader.core.points import Gate, hundredths, points_of
from grader.core.submission import Author
from grader.core.text import quantity
from grader.core.verdict import Aspect, Grade, GradeStatus, Status, Verdict, by_exercise
from grader.results.decisions.decision import Decision, DecisionKind, Whom, ways_to_mean
from grader.results.decisions.file import FORMS
from grader.results.decisions.settlement import (
    RULE,
    ChangeKind,
    ExercisePoints,
    LateAllowance,
    Lateness,
    PointsChange,
    Settlement,
    in_words,
    lateness,
    more_time,
)
from grader.results.results import Results


@dataclass(frozen=True, slots=True)
class Settling:
    """Settles the grades of a class; its fields hold all that this needs beside the grades.

    `people` holds, by submission, those whom it counts for: nobody if another was taken instead.
    `handed_in` holds, by submission, those who handed it in, if known. `absentees` are those of the
    class who handed in nothing: a submission that only seemed to be theirs does not count.
    `marked` are the submissions that a platform called late. `times` are the known times of handing
    in, and `timed_by` the places of the decisions that set them.

    `taken` holds the places of decisions that say whose a submission is, or that it counts in place
    of another. Decisions that a later one replaces are left out. `unsure` says why the owner of
    some submissions is not certain, until a decision settles it.
    """

    decisions: tuple[Decision, ...]
    rule: LateRule | None
    people: Mapping[str, tuple[Author, ...]]
    absentees: tuple[Author, ...]
    marked: frozenset[str]
    times: Mapping[str, datetime.datetime]
    timed_by: Mapping[str, str] = field(default_factory=dict)
    taken: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unsure: Mapping[str, str] = field(default_factory=dict)
    handed_in: Mapping[str, tuple[Author, ...]] = field(default_factory=dict)

    @property
    def untimed(self) -> tuple[str, ...]:
        """Returns the submissions that the late rule takes as in time, since no time is known.

        There are none if the platform marked others as late.
        """
        if self.rule is None or self.marked:
            return ()
        counts = {name for name, own in self.people.items() if own}
        return tuple(sorted(counts - self.times.keys(), key=natural_order))

    def settle(self, grade: Grade) -> tuple[Settlement, ...]:
        """Returns the settlements of a submission; people with equal settlements share one."""
        settled: dict[tuple[object, ...], Settlement] = {}
        for person in self.people.get(grade.submission, (Author(name=grade.submission),)):
            own = PersonsPoints(self, grade, person).settled()
            key = (own.changes, own.comments, own.excused, own.undecided)
            known = settled.get(key, replace(own, people=()))
            settled[key] = replace(
                known, people=(*known.people, person), sources=known.sources | own.sources
            )
        return tuple(settled.values())

    def of(self, submission: str, person: Author, *kinds: DecisionKind) -> Iterator[Decision]:
        """Yields the decisions about a person, of some kinds or of all."""
        about = {*ways_to_mean(submission, person)}
        for one in self.decisions:
            if one.kind in (kinds or DecisionKind) and one.whom in about:
                yield one

    def allowance(self, submission: str, person: Author) -> LateAllowance:
        """Returns a person's late allowance; an extension of one member is the whole group's."""
        group = (person, *self.people.get(submission, ()))
        extensions = [
            one for own in group for one in self.of(submission, own, DecisionKind.EXTENSION)
        ]
        moments = [one.until for one in extensions if one.until is not None]
        local = self.rule.local if self.rule else _with_some_zone
        left = [one.left for one in self.of(submission, person, DecisionKind.LATE_DAYS)]
        return LateAllowance(
            until=max(moments, key=local, default=None),
            more_days=max((one.days or 0 for one in extensions), default=0),
            free_days=left[-1] if left else None,
            extensions=tuple({one.source: one for one in extensions}.values()),
        )

    def excused(self, person: Author) -> str:
        """Returns why a person without a submission is excused, with the source; "" if not."""
        found = (one for one in self.of("", person, DecisionKind.EXCUSED) if not one.target)
        return "; ".join(f"excused: {one.reason or '-'} ({one.source})" for one in found)

    def comments(self, submission: str, person: Author) -> tuple[str, ...]:
        """Returns the comments for a person."""
        return tuple(one.text for one in self.of(submission, person, DecisionKind.COMMENT))


def _with_some_zone(moment: datetime.datetime) -> datetime.datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


_LISTED = 6
# Kinds that matter to a person's points only if something was late.
_ONLY_IF_LATE = (DecisionKind.TAKEN_INSTEAD, DecisionKind.WHOSE, DecisionKind.TIMES)


@dataclass(slots=True)
class Effect:
    """A decision, and a line for each person that it affects."""

    decision: Decision
    lines: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """Returns the decision in a line: "points: alice, run_rope, to 2: a typo (mm)"."""
        decision = self.decision
        said = [(key, getattr(decision, key)) for key in FORMS[decision.kind].own]
        parts = [_value(key, value) for key, value in said if value is not None and value != ""]
        by = f" ({decision.who})" if decision.who else ""
        return f"{decision.kind}: {', '.join(parts)}{decision.because}{by}"

    def in_short(self) -> list[str]:
        """Returns the first lines, and a line that counts the others."""
        more = len(self.lines) - _LISTED
        short = [*self.lines[:_LISTED], *[f"and {more} more"] * (more > 0)]
        return short or ["changes nobody's points"]


def effects(results: Results, settling: Settling) -> list[Effect]:
    """Returns every decision with its effects, in the order of the file."""
    found: dict[str, Effect] = {}
    counting = frozenset[str]().union(*settling.taken.values())
    for one in settling.decisions:
        effect = found.setdefault(one.source, Effect(one))
        who = one.whom.author.called if one.whom.author else one.person
        if one.source in counting and one.kind is DecisionKind.TAKEN_INSTEAD:
            effect.lines = [f"{who}: gets the grade of {one.submission} and of no other"]
        if one.source in counting and one.kind is DecisionKind.WHOSE:
            effect.lines = [f"{who}: handed in {one.submission}"]
    for person in settling.absentees:
        for decision in settling.of("", person, DecisionKind.EXCUSED):
            found[decision.source].lines.append(f"{person.called}: excused, handed in nothing")
    for grade in results.grades() if found else ():
        for own in settling.settle(grade):
            _add(found, own)
    return [*found.values()]


def _add(found: dict[str, Effect], own: Settlement) -> None:
    who, final = ", ".join(person.called for person in own.people), _final(own)
    for change in own.changes:
        effect = found.get(change.source)
        if effect is not None and (change.hundredths or change.source in own.sources):
            said = [in_words(change), *([] if own.excused else [final])]
            effect.lines.append(f"{who}: {'; '.join(said)}")
    silent = own.sources | ({own.timed_by} if own.timed_by else set())
    for source in sorted(silent - {change.source for change in own.changes}):
        effect = found[source]
        if effect.decision.kind is DecisionKind.COMMENT:
            effect.lines.append(f"{who}: reads it")
        elif own.late or effect.decision.kind not in _ONLY_IF_LATE:
            effect.lines.append(f"{who}: {final}")


def _final(own: Settlement) -> str:
    if own.excused:
        return "excused"
    if own.final is None:
        return "not graded"
    late = own.of_kind(ChangeKind.LATE)
    deducted = f" after {points_of(-late):.10g} were taken off for being late" if late else ""
    return f"{own.final:.10g} {'point' if own.final == 1 else 'points'}{deducted}"


def _value(key: str, value: object) -> str:
    if key in ("to", "by"):
        number = points_of(int(str(value)))
        return f"to {number:.10g}" if key == "to" else f"by {number:+.10g}"
    return str(value) if key in ("person", "exercise", "test", "text") else f"{key} {value}"


def earned(tests: Sequence[Verdict]) -> int:
    """Returns the hundredths that tests gave."""
    return sum(hundredths(test.score) for test in tests)


def worth(tests: Sequence[Verdict]) -> int:
    """Returns the hundredths that tests can give."""
    return sum(hundredths(test.max_score) for test in tests)


def _gated(tests: Sequence[Verdict]) -> int:
    """Returns the hundredths that the outcomes give, before deductions for forbidden calls."""
    gate, others = Gate(), 0
    for test in tests:
        right = test.status is Status.PASSED
        possible = hundredths(test.max_score)
        if test.aspect is Aspect.VALUES:
            gate.add_values(possible if right else hundredths(test.score), possible, right)
        else:
            others += possible if right else 0
    return gate.right + gate.counted_of(others)


def _rounded(number: Fraction) -> int:
    return math.floor(number + Fraction(1, 2))


CARRY_OVER = "[tool.grader] carry_over"


@dataclass(slots=True)
class _Exercise:
    """An exercise's hundredths: `machine` by its tests, `points` after the changes so far."""

    tests: list[Verdict]
    machine: int
    points: int
    worth: int
    carried: int = 0
    scale: Fraction = Fraction(1)  # multiplies the tests that are left, if others were taken out
    taken_out: frozenset[str] = frozenset()
    bonus: frozenset[str] = frozenset()
    decided: dict[str, int] = field(default_factory=dict)

    @property
    def settled(self) -> ExercisePoints:
        """Returns the points after all changes."""
        why = "bonus" if self.bonus else "taken out" if self.taken_out else ""
        return ExercisePoints(self.machine, self.points, self.worth, "" if self.worth else why)

    @property
    def ids(self) -> frozenset[str]:
        """Returns the ids of the exercise's tests."""
        return frozenset(test.id for test in self.tests)

    def take_out(self, tests: frozenset[str], as_bonus: bool) -> int:
        """Takes tests out, or makes them a bonus; returns the exercise's points after that.

        The tests that are left carry the whole worth; wrong values among them reduce the others.
        A deduction for a forbidden call keeps its proportion. Points carried over keep their
        proportion of the lost points. The points of bonus tests come on top.
        """
        self.taken_out = self.taken_out - tests if as_bonus else self.taken_out | tests
        self.bonus = self.bonus | tests if as_bonus else self.bonus - tests
        left = [test for test in self.tests if test.id not in self.taken_out | self.bonus]
        before, now, whole = _gated(self.tests), Fraction(_gated(left)), worth(self.tests)
        if before:
            now = now * self.machine / before
        self.scale = Fraction(whole, possible) if (possible := worth(left)) else Fraction()
        self.worth = whole if possible else 0
        reached = now * self.scale
        if self.carried and self.machine < whole:
            reached += (self.worth - reached) * self.carried / (whole - self.machine)
        extra = earned([test for test in self.tests if test.id in self.bonus])
        return extra + min(_rounded(reached), self.worth)

    def with_tests_at(self, points: int, tests: frozenset[str]) -> int:
        """Sets some tests together to `points`; returns the exercise's points after that.

        Points that these tests lost may have been carried over already, and are not given twice.
        The exercise gets more than its worth only if the tests are given more than theirs. A test
        that is taken out gives nothing, and the others carry its points.
        """
        own = [test for test in self.tests if test.id in tests - self.taken_out]
        before = sum(self.decided.pop(test.id, earned([test])) for test in own)
        self.decided |= dict(zip([t.id for t in own], [points, *[0] * len(own)], strict=False))
        scale = self.scale if self.bonus.isdisjoint(tests) else Fraction(1)
        most = Fraction(max(self.worth, self.points)) + scale * max(points - worth(own), 0)
        if not self.bonus.isdisjoint(tests):
            most += worth(own)
        return min(self.points + _rounded(scale * (points - before)), _rounded(most))


class PersonsPoints:
    """One person's points: they begin with the tests' points, and each step adds changes.

    No step undoes a change. The order of the steps is a promise: first points carried over from
    other exercises, then tests and exercises taken out. Decisions about tests and exercises follow,
    then excuses, then lateness. Decisions about the whole come last, so that nothing is deducted
    from them.
    """

    def __init__(self, settling: Settling, grade: Grade, person: Author) -> None:
        self._settling = settling
        self._grade = grade
        self._person = person
        self._is_complete = grade.is_complete
        judged = by_exercise(grade.tests) if self._is_complete else {}
        self._exercises = {
            name: _Exercise(tests, got := earned(tests), got, worth(tests))
            for name, tests in judged.items()
        }
        self._whole = 0  # changes of the whole, outside the exercises
        self._changes: list[PointsChange] = []

    def settled(self) -> Settlement:
        """Returns the settlement after all steps, in their order."""
        self._carry_over()
        self._take_out()
        self._decide_parts()
        is_excused = self._excuse()
        late = self._deduct()
        self._decide_the_whole()
        grade, exercises = self._grade, self._exercises.values()
        return Settlement(
            submission=grade.submission,
            people=(self._person,),
            status=grade.status if self._is_complete else GradeStatus.NOT_GRADED,
            late=late.late,
            machine=sum(each.machine for each in exercises) if self._is_complete else None,
            worth=sum(each.worth for each in exercises)
            if self._exercises
            else hundredths(grade.max_score),
            exercises={name: each.settled for name, each in self._exercises.items()},
            changes=tuple(self._changes),
            comments=self._settling.comments(grade.submission, self._person),
            excused=is_excused,
            undecided=late.undecided,
            sources=self._sources(),
            timed_by=self._settling.timed_by.get(grade.submission, ""),
        )

    def _sources(self) -> frozenset[str]:
        naming = {one.source for one in self._of() if one.whom != Whom()}
        return self._settling.taken.get(self._grade.submission, frozenset()) | naming

    def _carry_over(self) -> None:
        for carried in self._grade.carried:
            if (exercise := self._exercises.get(carried.exercise)) is not None:
                more = hundredths(carried.points)
                exercise.points += more
                exercise.carried += more
                is_full = exercise.points >= exercise.worth
                name, said = carried.exercise, carried.sentence(is_full)
                self._add(ChangeKind.CARRIED, name, more, said, CARRY_OVER, is_full)

    def _take_out(self) -> None:
        for decision in self._of(DecisionKind.TAKEN_OUT, DecisionKind.BONUS):
            if (exercise := self._exercises.get(decision.target)) is None:
                continue
            tests = decision.tests & exercise.ids if decision.tests else exercise.ids
            is_bonus = decision.kind is DecisionKind.BONUS
            left = exercise.take_out(tests, is_bonus)
            what = "" if tests == exercise.ids else f"{quantity(len(tests), 'test')} "
            said = f"{what}made a bonus" if is_bonus else f"{what}taken out"
            why = f"{said}: {decision.reason}"
            self._set(ChangeKind.TAKEN_OUT, left, why, decision)

    def _decide_parts(self) -> None:
        for decision in self._of(DecisionKind.POINTS):
            exercise = self._exercises.get(decision.target)
            if exercise is None or (decision.tests or exercise.ids) <= exercise.taken_out:
                continue
            left = exercise.points + (decision.by or 0) if decision.to is None else decision.to
            if decision.tests and decision.to is not None:
                left = exercise.with_tests_at(decision.to, decision.tests)
            why = decision.reason + _more_than(left, exercise.points, exercise.worth)
            self._set(ChangeKind.DECIDED, left, why, decision)

    def _excuse(self) -> bool:
        """Sets excused exercises to the others' proportion; returns whether all are excused."""
        excused = {one.target for one in self._of(DecisionKind.EXCUSED)}
        others = [one for name, one in self._exercises.items() if name not in excused]
        possible = sum(one.worth for one in others)
        reached = sum(one.points for one in others)
        # Without an exercise that counts, nothing gives the excused ones a proportion.
        everything = not excused.isdisjoint(self._exercises) and not possible
        for decision in self._of(DecisionKind.EXCUSED):
            if not decision.target:
                everything = True
                said = f"excused{decision.because}"
                self._add(ChangeKind.EXCUSED, None, 0, said, decision.source)
            if decision.target in self._exercises:
                own = reached * self._exercises[decision.target].worth
                left = _rounded(Fraction(own, possible)) if possible else 0
                why = f"excused, so that it counts as the others do{decision.because}"
                self._set(ChangeKind.EXCUSED, left, why, decision)
        return everything

    def _deduct(self) -> Lateness:
        name, settling = self._grade.submission, self._settling
        reached = sum(each.points for each in self._exercises.values())
        possible = sum(each.worth for each in self._exercises.values())
        allowance = settling.allowance(name, self._person)
        at, is_marked = settling.times.get(name), name in settling.marked
        late = lateness(settling.rule, at, is_marked, allowance, reached, possible)
        for one in allowance.extensions:
            said = f"{more_time(settling.rule, allowance)}{one.because}"
            self._add(ChangeKind.LATE, None, 0, said, one.source)
        if late.sentence and self._is_complete:
            source = ", ".join(filter(None, (RULE, settling.timed_by.get(name))))
            self._add(ChangeKind.LATE, None, -late.cost, late.sentence, source)
        return late

    def _decide_the_whole(self) -> None:
        for decision in self._of(DecisionKind.POINTS):
            if decision.target:
                continue
            now = self._whole + sum(each.points for each in self._exercises.values())
            left = now + (decision.by or 0) if decision.to is None else decision.to
            possible = sum(each.worth for each in self._exercises.values())
            why = decision.reason + _more_than(left, now, possible)
            self._add(ChangeKind.DECIDED, None, max(left, 0) - now, why, decision.source)

    def _of(self, *kinds: DecisionKind) -> Iterator[Decision]:
        return self._settling.of(self._grade.submission, self._person, *kinds)

    def _set(self, kind: ChangeKind, left: int, sentence: str, decision: Decision) -> None:
        """Sets the points of the decision's exercise to `left` hundredths, but not below 0."""
        more = max(left, 0) - self._exercises[decision.target].points
        self._exercises[decision.target].points += more
        self._add(kind, decision.target, more, sentence, decision.source)

    def _add(
        self,
        kind: ChangeKind,
        exercise: str | None,
        more: int,
        sentence: str,
        source: str,
        is_full: bool = False,
    ) -> None:
        self._whole += 0 if exercise else more
        change = PointsChange(kind, more, exercise, sentence, source, is_full)
        self._changes.append(change)


def _more_than(left: int, before: int, worth: int) -> str:
    if not 0 < worth < left or left <= before:
        return ""
    return f", which makes {points_of(left):.10g} of {points_of(worth):.10g}"
