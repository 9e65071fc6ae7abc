"""Explains verdicts: runs failed tests again on the inputs that students have at home.

The explainer never sees the inputs drawn for grading. Its messages are those that `pytest` prints
on a student's own machine, number for number, and the texts of the mistakes' author.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from grader.core.evidence import Evidence, StepWalk
from grader.core.explanation import Told, Words, WrongAnswers
from grader.core.text import plain
from grader.core.verdict import COUNTED_ASPECTS, WATCHED_ASPECTS, Aspect, Status, Visibility, Where
from grader.explain.deadline import NEVER, Deadline
from grader.explain.explainer.rerun import GRADED, LOST, REPEATED, LostTests, Rerun, RerunResult
from grader.explain.explainer.unknown import nameless, suspicion
from grader.explain.explainer.workshop import RepairWorkshop
from grader.explain.mistakes.diagnosis import Finding, diagnose, wrong_cases
from grader.explain.mistakes.mistakes import KnownMistakes
from grader.explain.repair.choice import RepairedExercise
from grader.explain.repair.earlier_calls import Dependence, stays_apart
from grader.explain.repair.proof import Proved
from grader.explain.repair.questions import CheckedCall, checked_calls
from grader.explain.step_comparison import StepComparison, compare_steps
from grader.testing.outcome import Observation
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
        change. `lost` holds the judge's words on tests that timed out or crashed, and `losses` runs
        these tests again at the end. `workshop` proves that editing a line fixes a test.
        """
        words = Words()
        for words in self._failures(ask, statuses, deadline).explained(workshop):
            yield words
        tests = self._suite.tests
        judged = [tests[one].verdict(statuses[one], lost[one]) for one in lost if one in tests]
        for of_lost in losses.told(judged, self._rerun.raised, deadline):
            yield replace(words, tests={**words.tests, **of_lost})

    def names(
        self, ask: Ask, statuses: Mapping[str, Status]
    ) -> tuple[dict[str, str], dict[str, int]]:
        """Returns, by exercise, the mistake that explains its failed tests, where one does.

        The second value counts the wrong answers in tests whose answers can name a mistake.
        """
        answers = self._failures(ask, statuses, NEVER).answers()
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

    def _failures(self, ask: Ask, statuses: Mapping[str, Status], deadline: Deadline) -> Failures:
        return Failures(self._suite, self._mistakes, self._rerun, ask, statuses, deadline)


class Failures:
    """The tests that a submission did not pass, run again with passed ones that help to explain.

    `ask` sends a call to the submission. `statuses` holds the outcomes by test.
    """

    def __init__(
        self,
        suite: Suite,
        mistakes: KnownMistakes,
        rerun: Rerun,
        ask: Ask,
        statuses: Mapping[str, Status],
        deadline: Deadline,
    ) -> None:
        self._suite = suite
        self._mistakes = mistakes
        self._rerun = rerun
        self._ask = ask
        self._statuses = statuses
        self._deadline = deadline
        self._seen: dict[str, RerunResult] = {}
        for test in self._to_rerun():
            if deadline.passed:
                break
            self._see(test)

    def explained(self, workshop: RepairWorkshop) -> Iterator[Words]:
        """Yields the words for the tests, more with each step."""
        repeated = [test for test in self._tests(*REPEATED) if test.id in self._seen]
        # A test that passes with no call before it may fail after all these calls.
        for test in [test for test in repeated if self._seen[test.id].words is None]:
            if not self._deadline.passed:
                self._see(test)
        told = {
            test.id: self._told(test.id) or Told(_OTHERWISE[test.visibility]) for test in repeated
        }
        seen = (self._seen[test.id] for test in self._tests(*Status) if test.id in self._seen)
        pictures = tuple(itertools.chain.from_iterable(one.pictures for one in seen))
        words = Words(told, evidence=Evidence(pictures))
        yield words
        if told and not self._deadline.passed:
            yield from self._with_reasons(words, workshop)

    def _with_reasons(self, words: Words, workshop: RepairWorkshop) -> Iterator[Words]:
        """Yields the words with known mistakes, then with steps, then with lines.

        A message that names the line to fix leaves out the steps. Messages about answers that
        depend on earlier calls have neither line nor steps.
        """
        depends, alone = self._dependence(workshop)
        self._seen |= alone
        told = {
            test: (self._told(test) if test in alone else None) or own
            for test, own in words.tests.items()
        }
        answers = {
            name: [one for one in own if one.test in alone or not depends.holds(one)]
            for name, own in self.answers().items()
        }

        def contradicts(exercise: str, mistake: str) -> bool:
            return depends.contradicts(self._mistakes, mistake, answers[exercise])

        findings = diagnose(self._mistakes, answers, self._deadline, contradicts)
        named = {test: self._named(test, own, findings) for test, own in told.items()}
        named = {test: _depending(test, own, depends) for test, own in named.items()}
        unnamed = {
            name: own
            for name, own in answers.items()
            if name not in findings and name not in self._mistakes.dropped_from
        }
        words = replace(words, tests=named, wrong=nameless(self._mistakes, unnamed))
        yield words
        comparisons: Mapping[str, StepComparison] = {}
        if not alone:  # if any answer depends on earlier calls, the steps may depend on them too
            failed = {test.id for test in self._tests(Status.FAILED)}
            comparisons = compare_steps(self._mistakes, self._ask, answers, failed, self._deadline)
        stated = depends.concerned
        walks = tuple(
            one.walk
            for one in comparisons.values()
            if one.walk is not None and one.walk.test not in stated
        )
        placed = {
            test: own if test in stated or steps is None else _with(own, steps.in_words(test))
            for test, own in named.items()
            for steps in [comparisons.get(self._suite.tests[test].exercise)]
        }
        words = replace(
            words,
            tests=placed,
            evidence=replace(words.evidence, walks=walks),
            wrong=_suspected(words.wrong, {}, walks),
        )
        yield words
        if not self._deadline.passed:
            yield self._with_lines(words, named, depends, workshop)

    def _with_lines(
        self, words: Words, named: Mapping[str, Told], depends: Dependence, workshop: RepairWorkshop
    ) -> Words:
        """Returns the words with the line that fixes a test in place of the test's steps."""
        asked = {
            name: [one for one in own if not depends.holds(one.question)]
            for name, own in self._asked().items()
        }
        wrong = self._wrong(depends)
        repaired = workshop.repaired(self._mistakes, asked, self._deadline)
        sharing = {name: self._suite.foundations.sharing_with(name) for name in repaired}
        passed = [one for one in self._tests(Status.PASSED) if one.aspect not in COUNTED_ASPECTS]
        # Wrong answers may take less work than right ones.
        kept = {
            name: [test.id for test in passed if test.exercise in own]
            for name, own in sharing.items()
        }
        not_passed = self._tests(*{*Status} - {Status.PASSED})
        left = {
            name: frozenset(test.id for test in not_passed if test.exercise == name) - wrong[name]
            for name in wrong
        }
        proved = {
            name: replace(one, others=left[name])
            for name, one in workshop.proved(
                repaired, wrong, kept, self._passes, self._deadline
            ).items()
        }
        told = dict(words.tests)
        for test in named:
            exercise = self._suite.tests[test].exercise
            one = proved.get(exercise)
            if one is not None and test in one.passing:
                told[test] = _with_line(test, named[test], one, self._suite.assignment.show_edits)
            elif one is not None and test in one.failing:
                told[test] = _with(told[test], one.in_words(test))
            elif self._statuses[test] is Status.FAILED:
                told[test] = _with(told[test], workshop.ignored.get(exercise, ""))
        evidence = replace(words.evidence, repairs=tuple(workshop.repairs))
        lines = {name: one.repaired for name, one in proved.items()}
        suspected = _suspected(words.wrong, lines, evidence.walks)
        return replace(words, tests=told, evidence=evidence, wrong=suspected)

    def _dependence(self, workshop: RepairWorkshop) -> tuple[Dependence, Mapping[str, RerunResult]]:
        """Returns the tests that depend on earlier calls, and results of the others.

        The results are those of the other tests that failed again, each run with no call before it.
        They are empty if no test depends on earlier calls.
        """
        asked = [*itertools.chain(*self._asked().values())]
        depends = workshop.dependence(self._mistakes, asked)
        wrong = self._wrong(depends)
        if not depends.tests:
            # The wrong calls in `asked` had a control run. Exercises without one remain: those of
            # which only gradients are wrong, for example.
            for one in asked:
                if not one.right:
                    wrong.pop(one.exercise, None)
        apart = {one.question.test for one in asked if stays_apart(one)}
        others = {*itertools.chain(*wrong.values())} - apart
        if not others:
            return depends, {}
        # A test that passed in the judge may have failed here, because of earlier calls alone.
        passed = [test.id for test in self._tests(Status.PASSED) if self._is_wrong(test.id)]
        alone = workshop.rerun_alone([*sorted(others), *passed], self._look)
        right = {test for test in others if test in alone and alone[test].words is None}
        depends = replace(depends, tests=depends.tests | right)
        return depends, alone if depends.tests else {}

    def _wrong(self, depends: Dependence) -> dict[str, set[str]]:
        """Returns, by exercise, the tests that failed twice and do not depend on earlier calls."""
        wrong: dict[str, set[str]] = {}
        for test in self._tests(Status.FAILED, Status.ERROR):
            if self._is_wrong(test.id) and test.id not in depends.concerned:
                wrong.setdefault(test.exercise, set()).add(test.id)
        return wrong

    def _is_wrong(self, test: str) -> bool:
        """Returns whether a test ran again, and failed."""
        return test in self._seen and self._seen[test].words is not None

    def _passes(self, test: str, ask: Ask) -> bool | None:
        """Returns whether a test passes with this `ask`, or None if a call gets no answer."""
        found = self._look(test, ask)
        return None if found is None else found.words is None

    def _look(self, test: str, ask: Ask) -> RerunResult | None:
        return self._rerun.look(self._suite.tests[test], ask)

    def _see(self, test: Test) -> None:
        found = self._look(test.id, self._ask)
        if found is not None:
            self._seen[test.id] = found

    def _told(self, test: str) -> Told | None:
        return self._seen[test].told(self._statuses[test])

    def _asked(self) -> dict[str, list[CheckedCall]]:
        """Returns, by exercise in the assignment's order, the calls that can check an edit."""
        asked: dict[str, list[CheckedCall]] = {name: [] for name in self._suite.assignment.points}
        failed = {test.id for test in self._tests(Status.FAILED)}
        for test in self._tests(*Status):
            if (seen := self._seen.get(test.id)) is not None:
                raised = [] if seen.unanswered is None else [seen.unanswered]
                given = seen.observations, raised, failed
                asked[test.exercise] += checked_calls(self._mistakes, test.exercise, *given)
        return asked

    def answers(self) -> dict[str, list[Observation]]:
        """Returns the answers to the exercises with failed tests, in the assignment's order."""
        failed = {test.exercise for test in self._tests(Status.FAILED)}
        answers: dict[str, list[Observation]] = {
            name: [] for name in self._suite.assignment.points if name in failed
        }
        for test in self._tests(*Status):
            if test.id in self._seen and test.exercise in answers:
                answers[test.exercise] += self._seen[test.id].observations
        return answers

    def _to_rerun(self) -> Iterator[Test]:
        """Yields the tests to run: those to repeat, then passed ones that help to explain."""
        yield from self._tests(*REPEATED)
        wrong = {test.exercise for test in self._tests(Status.FAILED, Status.ERROR)}
        if not wrong:
            return
        lost = {test.exercise for test in self._tests(*LOST)}
        passed = self._tests(Status.PASSED)
        watched = (test for test in passed if test.aspect in WATCHED_ASPECTS)
        yield from (test for test in watched if test.exercise in wrong)
        others = (test for test in passed if test.exercise not in wrong | lost)
        yield from (test for test in others if test.aspect is Aspect.VALUES)

    def _tests(self, *wanted: Status) -> list[Test]:
        """Returns the tests with one of the `wanted` outcomes."""
        return [one for one in self._suite.tests.values() if self._statuses.get(one.id) in wanted]

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
