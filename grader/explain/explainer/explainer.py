"""Explains verdicts: runs failed tests again on the inputs that students have at home.

The explainer never sees the inputs drawn for grading. Its messages are those that `pytest` prints
on a student's own machine, number for number, and the texts of the mistakes' author.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from grader.core.evidence import Evidence, StepWalk
from grader.core.explanation import Told, Words, WrongAnswers
from grader.core.text import plain
from grader.core.verdict import (
    COUNTED_ASPECTS,
    WATCHED_ASPECTS,
    Aspect,
    Status,
    Visibility,
    Where,
)
from grader.explain.deadline import Deadline
from grader.explain.explainer.rerun import (
    GRADED,
    LOST,
    REPEATED,
    LostTests,
    Rerun,
    RerunResult,
)
from grader.explain.explainer.unknown import nameless, suspicion
from grader.explain.explainer.workbench import RepairWorkshop
from grader.explain.mistakes.diagnosis import Finding, diagnose, is_right, wrong_cases
from grader.explain.mistakes.mistakes import KnownMistakes
from grader.explain.repair.choice import RepairedExercise
from grader.explain.repair.earlier_calls import Dependence, stays_apart
from grader.explain.repair.exercises import Proved
from grader.explain.repair.questions import CheckedCall, is_of_kind, that_raised
from grader.explain.step_comparison import StepComparison, compare_steps
from grader.testing.outcome import Observation, Question
from grader.testing.outcome_cache import Ask
from grader.testing.suite import Suite, Test

_ON_NEW_INPUTS = (
    "fails on the new random inputs used for grading\nLook for a case you did not handle, an "
    "answer that is nearly right or comes by chance, or state kept between calls."
)
_OTHERWISE = {
    Visibility.PUBLIC: f"passes your tests but {_ON_NEW_INPUTS}",
    Visibility.HIDDEN: f"passes on some inputs but {_ON_NEW_INPUTS}",
}


class Explainer:
    """An explainer of one submission after another, with the tests of an open suite.

    The explainer runs a test once for all submissions of a class that answer it alike.
    """

    def __init__(self, suite: Suite, mistakes: KnownMistakes) -> None:
        self._suite = suite
        self._mistakes = mistakes
        self._rerun = Rerun(suite)

    def explain(
        self,
        ask: Ask,
        statuses: Mapping[str, Status],
        deadline: Deadline,
        lost: Mapping[str, str],
        workshop: RepairWorkshop,
        losses: LostTests,
    ) -> Iterator[Words]:
        """Yields the words for the tests that a submission did not pass, more with each step.

        `ask` sends a call to the submission. `statuses` holds the outcomes by test, and does not
        change. `lost` holds the judge's words on tests without an answer. `losses` runs the lost
        tests again, last. `workshop` proves that editing a line fixes a test.
        """
        told: dict[str, Told] = {}
        seen: dict[str, RerunResult] = {}
        for test in self._in_turn(statuses):
            if deadline.passed:
                break
            found = self._rerun.look(test, ask)
            if found is not None:
                seen[test.id] = found
        # A test that passes with no call before it may fail after all these calls.
        for test in self._passing(statuses, seen):
            if not deadline.passed:
                seen[test.id] = self._rerun.look(test, ask) or seen[test.id]
        for name, found in seen.items():
            if statuses[name] in REPEATED:
                otherwise = Told(_OTHERWISE[self._suite.tests[name].visibility])
                told[name] = found.told(statuses[name]) or otherwise
        pictures = tuple(
            itertools.chain.from_iterable(seen[test].pictures for test in statuses if test in seen)
        )
        first = words = Words(told, evidence=Evidence(pictures))
        yield words
        if told and not deadline.passed:
            dependence = self._dependence(statuses, seen, workshop)
            for words in self._with_reasons(
                ask, dependence, statuses, seen, first, deadline, workshop
            ):
                yield words
        tests = self._suite.tests
        judged = [tests[one].verdict(statuses[one], lost[one]) for one in lost if one in tests]
        for of_lost in losses.told(judged, self._rerun.raised, deadline):
            yield replace(words, tests={**words.tests, **of_lost})

    def _with_reasons(
        self,
        ask: Ask,
        dependence: tuple[Dependence, Mapping[str, RerunResult]],
        statuses: Mapping[str, Status],
        seen: Mapping[str, RerunResult],
        words: Words,
        deadline: Deadline,
        workshop: RepairWorkshop,
    ) -> Iterator[Words]:
        """Yields the words with known mistakes, then with steps, then with lines.

        A message that names the line to fix leaves out the steps. Messages about answers with a
        `dependence` on earlier calls have neither line nor steps.
        """
        depends, alone = dependence
        seen = {**seen, **alone}
        fresh = {t: one.told(statuses[t]) for t, one in alone.items() if t in words.tests}
        told = {**words.tests, **{test: own for test, own in fresh.items() if own is not None}}
        answers = {
            name: [one for one in own if one.test in alone or not depends.holds(one)]
            for name, own in self._answers(statuses, seen).items()
        }

        def contradicts(exercise: str, mistake: str) -> bool:
            return depends.contradicts(self._mistakes, mistake, answers[exercise])

        findings = diagnose(self._mistakes, answers, deadline, contradicts)
        named = {test: self._named(test, own, findings) for test, own in told.items()}
        named = {test: _depending(test, own, depends) for test, own in named.items()}
        words = replace(words, tests=named, wrong=self._nameless(answers, findings))
        yield words
        # If any answer depends on earlier calls, the steps may depend on them too.
        ways = {} if alone else self._compare_steps(ask, answers, statuses, deadline)
        stated = depends.concerned
        walks = tuple(
            one.walk
            for one in ways.values()
            if one.walk is not None and one.walk.test not in stated
        )
        placed = {
            test: own if test in stated else _with(own, self._way(test, ways))
            for test, own in named.items()
        }
        words = replace(
            words,
            tests=placed,
            evidence=replace(words.evidence, walks=walks),
            wrong=_suspected(words.wrong, {}, walks),
        )
        yield words
        if not deadline.passed:
            yield self._with_lines(words, named, statuses, seen, depends, deadline, workshop)

    def _with_lines(
        self,
        words: Words,
        named: Mapping[str, Told],
        statuses: Mapping[str, Status],
        seen: Mapping[str, RerunResult],
        depends: Dependence,
        deadline: Deadline,
        workshop: RepairWorkshop,
    ) -> Words:
        """Returns the words with the line that fixes a test in place of the test's steps."""
        asked = {
            name: [one for one in own if not depends.holds(one.question)]
            for name, own in self._asked(statuses, seen).items()
        }
        wrong = self._wrong(statuses, seen, depends)
        repaired = workshop.repaired(self._mistakes, asked, deadline)
        sharing = {name: self._suite.foundations.sharing_with(name) for name in repaired}
        kept = {name: self._judged(own, statuses, passed=True) for name, own in sharing.items()}
        left = {name: {*self._judged([name], statuses, False)} - wrong[name] for name in wrong}
        proved = {
            name: replace(one, others=frozenset(left[name]))
            for name, one in workshop.proved(repaired, wrong, kept, self._passes, deadline).items()
        }
        told = dict(words.tests)
        for test in named:
            one = proved.get(self._suite.tests[test].exercise)
            if one is not None and test in one.passing:
                told[test] = _with_line(test, named[test], one, self._suite.assignment.show_edits)
            elif one is not None and test in one.failing:
                told[test] = _with(told[test], one.in_words(test))
            elif statuses[test] is Status.FAILED:
                unused = workshop.ignored.get(self._suite.tests[test].exercise, "")
                told[test] = _with(told[test], unused)
        evidence = replace(words.evidence, repairs=tuple(workshop.repairs))
        lines = {name: one.repaired for name, one in proved.items()}
        suspected = _suspected(words.wrong, lines, evidence.walks)
        return replace(words, tests=told, evidence=evidence, wrong=suspected)

    def _dependence(
        self,
        statuses: Mapping[str, Status],
        seen: Mapping[str, RerunResult],
        workshop: RepairWorkshop,
    ) -> tuple[Dependence, Mapping[str, RerunResult]]:
        """Returns the tests that depend on earlier calls, and rerun results.

        The results belong to the other wrong tests, each run with no call before it. They are empty
        if no test depends on earlier calls.
        """
        asked = [*itertools.chain(*self._asked(statuses, seen).values())]
        depends = workshop.dependence(self._mistakes, asked)
        wrong = self._wrong(statuses, seen, depends)
        if not depends.tests:
            # Tests without a wrong plain answer, of gradients for example, had no control run.
            for one in asked:
                if not one.right:
                    wrong.pop(one.exercise, None)
        apart = {one.question.test for one in asked if stays_apart(one)}
        others = {*itertools.chain(*wrong.values())} - apart
        if not others:
            return depends, {}
        # A test that passed may fail now, because of those calls alone.
        spoilt = [test for test, one in seen.items() if one.words and test not in others]
        passed = [test for test in spoilt if statuses[test] is Status.PASSED]
        alone = workshop.rerun_alone([*sorted(others), *passed], self._look)
        right = {test for test in others if test in alone and alone[test].words is None}
        depends = replace(depends, tests=depends.tests | right)
        return depends, alone if depends.tests else {}

    def _nameless(
        self, answers: Mapping[str, Sequence[Observation]], findings: Mapping[str, Finding]
    ) -> tuple[WrongAnswers, ...]:
        """Returns wrong answers that no mistake explains, leaving out exercises with dropout."""
        unnamed = {
            name: own
            for name, own in answers.items()
            if name not in findings and name not in self._mistakes.dropped_from
        }
        return nameless(self._mistakes, unnamed)

    def _compare_steps(
        self,
        ask: Ask,
        answers: Mapping[str, Sequence[Observation]],
        statuses: Mapping[str, Status],
        deadline: Deadline,
    ) -> Mapping[str, StepComparison]:
        failed = self._failed(statuses)
        return compare_steps(self._mistakes, ask, answers, failed, deadline)

    def _way(self, test: str, comparisons: Mapping[str, StepComparison]) -> str:
        """Returns how far a test's steps are right, or the line of its first NaN or infinity."""
        way = comparisons.get(self._suite.tests[test].exercise)
        return "" if way is None else way.in_words(test)

    def _wrong(
        self, statuses: Mapping[str, Status], seen: Mapping[str, RerunResult], depends: Dependence
    ) -> dict[str, set[str]]:
        """Returns, by exercise, the tests that failed twice and do not depend on earlier calls."""
        wrong: dict[str, set[str]] = {}
        for test in seen.keys() - depends.concerned:
            is_wrong = statuses[test] in (Status.FAILED, Status.ERROR)
            if is_wrong and seen[test].words is not None:
                wrong.setdefault(self._suite.tests[test].exercise, set()).add(test)
        return wrong

    def _passes(self, test: str, ask: Ask) -> bool | None:
        """Returns whether a test passes with this `ask`, or None if a call gets no answer."""
        found = self._look(test, ask)
        return None if found is None else found.words is None

    def _look(self, test: str, ask: Ask) -> RerunResult | None:
        return self._rerun.look(self._suite.tests[test], ask)

    def _passing(
        self, statuses: Mapping[str, Status], seen: Mapping[str, RerunResult]
    ) -> list[Test]:
        """Returns the tests that failed when they were graded and pass now."""
        return [
            self._suite.tests[test]
            for test, found in seen.items()
            if statuses[test] in REPEATED and found.words is None
        ]

    def _asked(
        self, statuses: Mapping[str, Status], seen: Mapping[str, RerunResult]
    ) -> dict[str, list[CheckedCall]]:
        """Returns, by exercise in the assignment's order, the plain calls with known answers."""
        asked: dict[str, list[CheckedCall]] = {name: [] for name in self._suite.assignment.points}
        for test in self._suite.tests.values():
            if test.id not in seen:
                continue
            own = asked[test.exercise]
            for one in seen[test.id].observations:
                right = is_right(self._mistakes, one)
                if right and statuses[test.id] is Status.FAILED:
                    right = is_of_kind(self._mistakes, one)
                if right is not None and (right or statuses[test.id] is Status.FAILED):
                    question = Question(one.test, one.number, one.aspect, one.call)
                    own.append(CheckedCall(test.exercise, question, right))
            unanswered = seen[test.id].unanswered
            if unanswered is not None:
                own.append(that_raised(self._mistakes, test.exercise, unanswered))
        return asked

    def names(
        self, ask: Ask, statuses: Mapping[str, Status]
    ) -> tuple[dict[str, str], dict[str, int]]:
        """Returns, by exercise, the mistake that explains its failed tests, where one does.

        The second value counts the wrong answers in tests whose answers can name a mistake.
        """
        seen = {
            test.id: found
            for test in self._in_turn(statuses)
            if (found := self._rerun.look(test, ask)) is not None
        }
        answers = self._answers(statuses, seen)
        findings = diagnose(self._mistakes, answers)
        cases = {name: wrong_cases(self._mistakes, own) for name, own in answers.items()}
        return {name: finding.diagnosis.mistake for name, finding in findings.items()}, cases

    def wrong_answers(self, ask: Ask, exercise: str) -> WrongAnswers | None:
        """Returns the wrong answers to an exercise, explained or not; None if there are none."""
        own = {exercise: self.observations(ask, exercise)}
        return next(iter(nameless(self._mistakes, own)), None)

    def observations(self, ask: Ask, exercise: str) -> list[Observation]:
        """Returns the answers to all calls of an exercise's tests."""
        own = (test for test in self._suite.tests.values() if test.exercise == exercise)
        seen = (self._rerun.look(test, ask) for test in own)
        return [one for found in seen if found for one in found.observations]

    def _in_turn(self, statuses: Mapping[str, Status]) -> Iterator[Test]:
        """Yields the tests to run: those not passed, then passed ones that help to explain."""
        tests = [self._suite.tests[test] for test in statuses if test in self._suite.tests]
        yield from (test for test in tests if statuses[test.id] in REPEATED)
        wrong = self._exercises(statuses, (Status.FAILED, Status.ERROR))
        if not wrong:
            return
        lost = self._exercises(statuses, LOST)
        passed = [test for test in tests if statuses[test.id] is Status.PASSED]
        watched = (test for test in passed if test.aspect in WATCHED_ASPECTS)
        yield from (test for test in watched if test.exercise in wrong)
        others = (test for test in passed if test.exercise not in wrong | lost)
        yield from (test for test in others if test.aspect is Aspect.VALUES)

    def _failed(self, statuses: Mapping[str, Status]) -> dict[str, list[str]]:
        failed: dict[str, list[str]] = {}
        for test, status in statuses.items():
            if status is Status.FAILED and test in self._suite.tests:
                failed.setdefault(self._suite.tests[test].exercise, []).append(test)
        return failed

    def _judged(
        self, exercises: Collection[str], statuses: Mapping[str, Status], passed: bool
    ) -> list[str]:
        """Returns exercises' tests that did not pass, or those that did and count no work.

        Wrong answers may take less work than right ones.
        """
        tests = [test for test in self._suite.tests.values() if test.id in statuses]
        own = [test for test in tests if test.exercise in exercises]
        own = [one for one in own if not (passed and one.aspect in COUNTED_ASPECTS)]
        return [one.id for one in own if (statuses[one.id] is Status.PASSED) is passed]

    def _exercises(self, statuses: Mapping[str, Status], wanted: Collection[Status]) -> set[str]:
        """Returns the exercises that have a test with one of the `wanted` statuses."""
        return {
            self._suite.tests[test].exercise
            for test, status in statuses.items()
            if status in wanted and test in self._suite.tests
        }

    def _answers(
        self, statuses: Mapping[str, Status], seen: Mapping[str, RerunResult]
    ) -> dict[str, list[Observation]]:
        failed = self._failed(statuses)
        answers: dict[str, list[Observation]] = {
            name: [] for name in self._suite.assignment.points if name in failed
        }
        for test in self._suite.tests.values():
            if test.id in seen and test.exercise in answers:
                answers[test.exercise] += seen[test.id].observations
        return answers

    def _named(self, test: str, words: Told, findings: Mapping[str, Finding]) -> Told:
        finding = findings.get(self._suite.tests[test].exercise)
        if finding is None or test not in finding.tests:
            return words
        return words._replace(diagnosis=finding.diagnosis)


def _suspected(
    wrong: Iterable[WrongAnswers], lines: Mapping[str, RepairedExercise], walks: Sequence[StepWalk]
) -> tuple[WrongAnswers, ...]:
    return tuple(replace(one, suspicion=suspicion(one.exercise, lines, walks)) for one in wrong)


def _with_line(test: str, words: Told, proved: Proved, shown: bool) -> Told:
    """Returns the words with the line that fixes the test."""
    place = proved.repaired.places[0]
    told = _with(words, proved.in_words(test, words.diagnosis is not None, shown))
    return told._replace(where=Where(plain(place.file), place.line))


def _depending(test: str, told: Told, depends: Dependence) -> Told:
    """Returns the words with a remark on earlier calls, if the test's answer depends on them."""
    if test not in depends.concerned:
        return told
    # The lines below describe values that earlier calls left behind.
    first, *others = told.message.splitlines()
    kept = [one for one in others if told.measurement or one in GRADED.values()]
    told = Told("\n".join([first, *kept]), told.measurement, None, None)
    return _with(told, depends.in_words(test))


def _with(words: Told, said: str) -> Told:
    """Returns the words with a further remark."""
    return words._replace(message="\n".join(filter(None, [words.message, plain(said)])))
