"""Causes of failed tests: each is reported once, with the tests and exercises that it fails."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.core.points import total
from grader.core.text import quantity, titled
from grader.core.verdict import (
    COUNTED_ASPECTS,
    NO_ANSWER_ASPECTS,
    Aspect,
    Diagnosis,
    Status,
    Verdict,
)

_NUMBER = re.compile(r"\[[-\d, ]*\]|\d[\d.,e+-]*")
# A quoted text; a call with its arguments.
_TEXT = re.compile(r"""(?<!\w)[bru]?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")…?""")
_CALL = re.compile(r"(\w)\([^()]*\)")
# The name of an answer in a message: a method, or words of the test's author.
_NAMED = re.compile(r"^.*?(?= (?:is (?:#|right up to)|has # |begins with ))")
_PLACE = re.compile(r" \([^():]*[^():\s]:\d[^()]*\)")
# The judge's message about tests that it no longer calls.
NOT_CALLED = " was not called again after this happened twice: "
USED_UP = " seconds were used up before this test"
# Marks a test that still fails after the change that fixes other tests of its exercise.
STAYS_WRONG = "Still fails after one change of "
# Begins the line below the headline that counts wrong values; the headline differs by case.
_COUNTED = re.compile(r"\d+ of \d+ values in ")
# The name of the answer, or of its part, in that line.
_COUNTED_IN = re.compile(r"(?<= values in ).*?(?= are wrong\b)")
# Ends a first line of a public test, which shows the expected value; hidden tests do not.
_EXPECTED = re.compile(r": [^:,]* was expected$")
# Begins advice that names a thing to check, and not a fault.
_TO_CHECK = "Check "
# The characters of a message that are read: a submission can raise a message of any length.
_LONGEST = 2000
# A missing file or name is one cause, at however many lines it raises.
_NOT_FOUND = ("FileNotFoundError", "ImportError", "ModuleNotFoundError", "NameError")
_MOST_PLACES = 3

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class FailedTest:
    """A test that did not pass, and the known reasons.

    `message` may have several lines; the first is a whole sentence. `mistake` explains the failure.
    `places` are the lines (file and number) that raised, or candidates for the correction, the
    likeliest first. `advice` names a thing to check if no mistake is known. `lost` are the points
    that the test costs, if points are known.
    """

    id: str
    exercise: str
    status: Status
    message: str
    aspect: Aspect = Aspect.VALUES
    mistake: Diagnosis | None = None
    places: tuple[Place, ...] = ()
    advice: str = ""
    lost: float = 0.0

    @classmethod
    def of(cls, verdict: Verdict) -> FailedTest:
        """Returns the failed test of a verdict."""
        where = verdict.where
        return cls(
            verdict.id,
            verdict.exercise,
            verdict.status,
            verdict.message or "",
            verdict.aspect,
            verdict.diagnosis,
            () if where is None else ((where.file, where.line),),
            lost=total((verdict.max_score, -verdict.score)),
        )

    @property
    def headline(self) -> str:
        """Returns the first line of the message."""
        return self.message[:_LONGEST].partition("\n")[0]

    @property
    def outcome(self) -> str:
        """Returns the headline without its place, or the status if there is no headline."""
        said = _PLACE.sub("", self.headline) if self.places else self.headline
        return said or str(self.status).replace("_", " ")

    @property
    def _second_line(self) -> str:
        return self.message[:_LONGEST].partition("\n")[2].partition("\n")[0]

    @property
    def source_lines(self) -> Sequence[str]:
        """Returns the source line that raised, which stands below the headline."""
        below = self._second_line
        return [below.strip()] if below.startswith("    ") and below.strip() else []

    @property
    def source_place(self) -> str:
        """Returns the place of the source line that raised: "warmup.py:7"; "" if unknown."""
        found = _PLACE.findall(self.headline) if self.source_lines else []
        return found[-1].strip(" ()") if found else ""

    @property
    def kind(self) -> str:
        """Returns the line that only differs in numbers between wrong answers of one kind."""
        return self._second_line if self.counts_values else self.outcome

    @property
    def counts_values(self) -> bool:
        """Returns whether the line below the headline counts wrong values."""
        return _COUNTED.match(self._second_line) is not None

    @property
    def is_apart(self) -> bool:
        """Returns whether the test still failed after a change that fixes others.

        A submission can choose the headline, with an exception. The explainer writes all other
        lines, or indents them.
        """
        return any(one.startswith(STAYS_WRONG) for one in self.message.split("\n")[1:])

    @property
    def sentence(self) -> str:
        """Returns the mistake's explanation, what is wrong in the code, or the outcome."""
        if self.mistake is not None:
            return self.mistake.explanation
        if self.advice and self.status is Status.FAILED and not self.advice.startswith(_TO_CHECK):
            return self.advice
        return self.outcome

    @property
    def lines(self) -> str:
        """Returns the places: "warmup.py:7 or warmup.py:9"."""
        return " or ".join(f"{file}:{line}" for file, line in self.places)

    @property
    def in_short(self) -> str:
        """Returns the exercise, the sentence and the lines."""
        return _at(titled(self.exercise, self.sentence), self.lines)


@dataclass(frozen=True, slots=True)
class Cause:
    """A reason why tests failed.

    `tests` is never empty. Its order is that of the exercises, so that the first exercise is the
    root. `shown` is the test that is reported in full.
    """

    tests: tuple[FailedTest, ...]
    shown: FailedTest

    @property
    def mistake(self) -> Diagnosis | None:
        """Returns the known mistake that the root exercise shows, as it is explained there."""
        return self.mistake_of(self.exercises[0])

    def mistake_of(self, exercise: str) -> Diagnosis | None:
        """Returns the known mistake that explains wrong answers of one of the exercises."""
        own = (test.mistake for test in self.tests if test.exercise == exercise)
        return next(filter(None, own), None)

    @property
    def id(self) -> str | None:
        """Returns the id of the mistake."""
        return None if self.mistake is None else self.mistake.mistake

    @property
    def sentence(self) -> str:
        """Returns the sentence that names the cause to a person."""
        if self.mistake is not None:
            return self.mistake.explanation
        if self.is_of_several_missing:
            return f"{len(self.exercises)} exercises are not written yet."
        return self.shown.sentence

    @property
    def hint(self) -> str:
        """Returns the mistake's hint, or the advice; "" if unknown or the same as the sentence."""
        if self.mistake is not None:
            return self.mistake.hint
        advice = next((test.advice for test in (self.shown, *self.tests) if test.advice), "")
        return "" if advice == self.sentence else advice

    @property
    def places(self) -> tuple[Place, ...]:
        """Returns the lines that raised or may need correction, the root exercise's first."""
        return tuple(dict.fromkeys(place for test in self.tests for place in test.places))

    @property
    def exercises(self) -> tuple[str, ...]:
        """Returns the exercises that the cause fails, the root exercise first."""
        return tuple(dict.fromkeys(test.exercise for test in self.tests))

    @property
    def headline(self) -> str:
        """Returns the exercise at the root, the sentence and the lines.

        For example: "run_mask: your mask … (warmup.py:25)".
        """
        return _at(self.title, self.lines)

    @property
    def title(self) -> str:
        """Returns the headline without the lines."""
        return titled("" if self.is_of_several_missing else self.exercises[0], self.sentence)

    @property
    def is_of_several_missing(self) -> bool:
        """Returns whether the cause is that several exercises are not written."""
        return self.shown.status is Status.MISSING and len(self.exercises) > 1

    @property
    def lines(self) -> str:
        """Returns the places in words, with "or" between alternatives."""
        told: dict[Place, str] = {}
        for test in self.tests:
            is_told = not test.places or test.places[0] in told
            if not is_told and test.status is not Status.MISSING:
                told[test.places[0]] = test.lines
        shown, more = list(told.values())[:_MOST_PLACES], len(told) - _MOST_PLACES
        return "; ".join(shown) + (f"; and {more} more" if more > 0 else "")

    @property
    def other_place(self) -> str:
        """Returns the place of the shown test's source line, or "" if `lines` has it."""
        place = self.shown.source_place
        return "" if has_place(self.lines, place) else place

    @property
    def lost(self) -> float:
        """Returns the points that the cause's tests cost."""
        return total(test.lost for test in self.tests)

    @property
    def is_absence(self) -> bool:
        """Returns whether something is missing: not written, not imported, not handed in."""
        return self.shown.status is Status.MISSING or self.shown.headline.startswith(_NOT_FOUND)

    @property
    def extent(self) -> str:
        """Returns "34 failures in 7 exercises", or "2 tests in run_mask" if it is not written."""
        noun = "test" if self.shown.status is Status.MISSING else "failure"
        one = len(self.exercises) == 1
        where = self.exercises[0] if one else f"{len(self.exercises)} exercises"
        return f"{quantity(len(self.tests), noun)} in {where}"


def causes(
    failed: Iterable[FailedTest],
    order: Sequence[str] = (),
    builds_on: Mapping[str, Collection[str]] | None = None,
) -> tuple[Cause, ...]:
    """Returns the causes of failed tests, that of the first exercise first.

    Needless work comes after wrong answers, and missing exercises come last. `order` lists
    exercises before those that build on them; by default the order is that of their tests.

    Tests share a cause if they share the mistake or the line, or, in one exercise, the message or a
    timeout. Wrong gradients of an exercise follow from its wrong values. A wrong answer without an
    explanation follows from the explained wrong values of its exercise, or from failures of an
    exercise that it `builds_on`. Wrong values are no reason for needless work, or for an input that
    is written into.
    """
    ranked = _ranked(failed, order)
    place = {id(test): number for number, test in enumerate(ranked)}
    groups = _joined([(test, set(_marks(test))) for test in ranked])
    groups = _followed(groups, builds_on or {})
    for group in groups:
        group.sort(key=lambda test: place[id(test)])
    groups.sort(key=lambda group: place[id(group[0])])
    found = _with_own_headlines(Cause(tuple(group), _telling(group)) for group in groups)
    return tuple(sorted(found, key=_turn))


def _turn(cause: Cause) -> int:
    """Returns the sorting key of a cause: wrong answers, then needless work, then missing ones."""
    if cause.shown.status is Status.MISSING:
        return 2
    return int(all(test.aspect in COUNTED_ASPECTS for test in cause.tests))


def counted(found: Sequence[Cause]) -> str:
    """Returns the numbers of failures and of their kinds: "34 failures of 2 kinds".

    Two kinds may still have one reason that nobody has proven.
    """
    failures = quantity(sum(len(cause.tests) for cause in found), "failure")
    return f"{failures} of {quantity(len(found), 'kind')}"


def has_place(text: str, place: str) -> bool:
    """Returns whether a text names a place: "a.py:12" does not name "a.py:1"."""
    return re.search(rf"(?<![\w./-]){re.escape(place)}(?!\d)", text) is not None


def without_numbers(message: str) -> str:
    """Returns a message with "#" in place of its numbers, which differ from case to case."""
    return _NUMBER.sub("#", message)


def _without_inputs(message: str) -> str:
    """Returns a message about a wrong answer without inputs, numbers and the answer's name."""
    said = without_numbers(_CALL.sub(r"\1(…)", _TEXT.sub("…", message)))
    return _NAMED.sub("", _EXPECTED.sub("", said))


def _ranked(failed: Iterable[FailedTest], order: Sequence[str]) -> list[FailedTest]:
    tests = list(failed)
    rank = {name: place for place, name in enumerate(dict.fromkeys(order))}
    for test in tests:
        rank.setdefault(test.exercise, len(rank))
    return sorted(tests, key=lambda test: rank[test.exercise])


def _marks(test: FailedTest) -> Iterator[Hashable]:
    """Yields the marks of a test; tests that share a mark have the same cause."""
    if test.status is Status.MISSING:
        yield test.status
        return
    if test.is_apart:
        yield "apart", test.exercise, test.status, without_numbers(test.sentence)
    if test.mistake is not None:
        yield "mistake", test.mistake.mistake
    if test.is_apart:
        return
    if test.places:
        yield "line", test.places[0]
    said = without_numbers(_PLACE.sub("", test.kind).rpartition(NOT_CALLED)[2])
    if test.status is Status.ERROR:
        yield from (("raised", place) for place in _PLACE.findall(test.headline))
        yield from (("raised", said, line) for line in test.source_lines)
    if test.status is Status.ERROR and said.startswith(_NOT_FOUND):
        yield "not found", said
    elif test.status is Status.NOT_GRADED:
        yield test.status, said
    elif test.status is Status.TIMEOUT:
        # One cause, whichever of the two clocks ran out, and at whichever line.
        yield test.exercise, test.status
        yield from ["used up"] * (USED_UP in test.headline)
    elif test.mistake is None and not test.places:
        if test.status is Status.FAILED:
            said = _without_inputs(_COUNTED_IN.sub("…", said))
        yield test.exercise, test.status, said


def _joined(marked: Iterable[tuple[FailedTest, set[Hashable]]]) -> list[list[FailedTest]]:
    """Returns groups of tests; tests that share a mark are in one group."""
    groups: list[tuple[list[FailedTest], set[Hashable]]] = []
    for test, marks in marked:
        tests, all_marks = [test], set(marks)
        apart = []
        for group in groups:
            if group[1].isdisjoint(marks):
                apart.append(group)
            else:
                tests, all_marks = group[0] + tests, group[1] | all_marks
        groups = [*apart, (tests, all_marks)]
    return [tests for tests, _ in groups]


def _followed(
    groups: Sequence[list[FailedTest]], builds_on: Mapping[str, Collection[str]]
) -> list[list[FailedTest]]:
    """Returns the groups, after merging each group that only follows from another one."""
    roots: dict[tuple[str, Aspect], list[FailedTest]] = {}
    known: dict[str, list[FailedTest]] = {}
    for group in groups:
        is_known = any(test.mistake is not None or test.places for test in group)
        for test in group:
            if not test.is_apart and test.status is not Status.MISSING:
                roots.setdefault((test.exercise, test.aspect), group)
                if is_known and test.aspect is Aspect.VALUES and test.status is Status.FAILED:
                    known.setdefault(test.exercise, group)
    left: list[list[FailedTest]] = []
    for group in groups:
        exercise, aspects = group[0].exercise, {test.aspect for test in group}
        is_gradient = _is_unexplained(group, only_gradients=True)
        earlier = [(exercise, Aspect.VALUES)] if is_gradient else []
        root = group
        if _is_unexplained(group):
            # Wrong values explain wrong answers; another wrong aspect explains only itself.
            are_answers = not all(map(_is_no_answer, group))
            likely = (Aspect.VALUES,) * are_answers + (*(aspects if len(aspects) == 1 else ()),)
            below = (one for one in builds_on.get(exercise, ()) if one != exercise)
            earlier += itertools.product(below, likely)
            root = known.get(exercise, group) if are_answers else group
        if root is group:
            root = next((roots[one] for one in earlier if one in roots), group)
        if root is group:
            left.append(group)
        else:
            root.extend(group)
            roots |= {name: root for name, own in roots.items() if own is group}
            known |= {name: root for name, own in known.items() if own is group}
    return left


def _is_unexplained(group: Sequence[FailedTest], only_gradients: bool = False) -> bool:
    """Returns whether these wrong answers, or their gradients, have no explanation."""
    return all(
        test.status is Status.FAILED
        and not test.is_apart
        and test.mistake is None
        and not test.places
        and (test.aspect is Aspect.GRADIENTS or not only_gradients)
        for test in group
    )


def _is_no_answer(test: FailedTest) -> bool:
    """Returns whether a test that judges no answer failed, and not for wrong values."""
    return test.aspect in NO_ANSWER_ASPECTS and not test.counts_values


def _with_own_headlines(found: Iterable[Cause]) -> list[Cause]:
    """Returns the causes, after merging those with the same status and headline."""
    told: dict[tuple[object, str], Cause] = {}
    for cause in found:
        key = cause.shown.status, cause.headline
        same = told.get(key)
        told[key] = cause if same is None else Cause((*same.tests, *cause.tests), same.shown)
    return [*told.values()]


def _telling(group: Sequence[FailedTest]) -> FailedTest:
    """Returns the root's most informative test: with a mistake, a line or values."""
    own = [test for test in group if test.exercise == group[0].exercise]

    def facts(test: FailedTest) -> tuple[bool, bool, bool]:
        return test.mistake is not None, bool(test.places), test.aspect is Aspect.VALUES

    return max(own, key=facts)


def _at(said: str, lines: str) -> str:
    return said if not lines or has_place(said, lines) else f"{said} ({lines})"
