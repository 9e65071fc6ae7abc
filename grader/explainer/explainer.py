"""Explains verdicts: has the failed tests run again on the inputs that students have at home.

Nothing of the graded draw is known here. What is said is what `pytest` says on a student's own
machine, number for number, and what the author of a mistake wrote.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.evidence import Evidence, Picture, Walk
from grader.explainer.losses import LOST, Losses, Lost
from grader.explainer.workshop import Workshop
from grader.explaining.deadline import Deadline
from grader.explaining.mending.choosing import Mended
from grader.explaining.mending.questions import Asked, is_of_kind, that_raised
from grader.explaining.naming.diagnosis import (
    WATCHED_ASPECTS,
    Finding,
    diagnose,
    is_right,
    wrong_cases,
)
from grader.explaining.naming.mistakes import KnownMistakes
from grader.explaining.naming.nameless import nameless, suspicion
from grader.explaining.steps.walking import Followed, follow
from grader.explaining.wording import InFull, words_of
from grader.home.bench import SEED, HomeCases
from grader.plain_text import plain
from grader.sandbox.replies import Reply, opened
from grader.suite.memory import Interview, Memory
from grader.suite.suite import Suite
from grader.suite.test import Test
from grader.testing.assertions import WrongNumbers
from grader.testing.bench import Bench
from grader.testing.observation import Observation, Question
from grader.testing.outcome import StudentFault
from grader.verdict import Aspect, Status, Visibility, Where
from grader.wire.calls import Answer, Call
from grader.words import Told, Words
from grader.wrong_answers import WrongAnswers

REPEATED = (Status.FAILED, Status.ERROR, Status.MISSING)
_OTHERWISE = {
    Visibility.PUBLIC: "it passes on the inputs of your own copy, and fails on others that were "
    "drawn for grading: it is right for some inputs only, or an answer comes by chance",
    Visibility.HIDDEN: "it passes on some inputs, and fails on others that were drawn for grading: "
    "it is right for some inputs only, or an answer comes by chance",
}

# What a class's answers are remembered for is kept small: each is kept with its numbers.
_MOST_OUTCOMES = 12
_MOST_NUMBERS = 1 << 14

Ask = Callable[[Call], Reply]


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of a test on a student's inputs: words if it failed, answers, pictures.

    `unanswered` is the plain call at which the submission raised, if it did.
    """

    words: Told | None
    observations: tuple[Observation, ...]
    pictures: tuple[Picture, ...]
    unanswered: Question | None = None


class Explainer:
    """Explains one submission after another, by the tests of an open suite.

    What is equal in a class is looked at once: a test is a function of the answers to its calls.
    """

    def __init__(self, suite: Suite, mistakes: KnownMistakes) -> None:
        self._suite = suite
        self._mistakes = mistakes
        self._memory = Memory[Seen](_MOST_OUTCOMES)
        self._interview: Interview | None = None
        self._observations: dict[str, list[Observation]] = {}
        self._bench = Bench(
            suite.contract,
            self._ask,
            suite.references,
            HomeCases(suite.assignment.root, fresh=True),
            SEED,
            InFull(),
            observations=self._observations,
        )

    def explain(
        self,
        ask: Ask,
        statuses: Mapping[str, Status],
        deadline: Deadline,
        lost: Mapping[str, str],
        workshop: Workshop,
        losses: Losses,
    ) -> Iterator[Words]:
        """The words for the tests of a submission that were not passed; more with each step.

        `ask` asks the submission; `statuses` are the outcomes, by test, and stay what they are;
        `lost` is what the judge said where no answer came: that is repeated last, by `losses`.
        Lines are proved in a `workshop`.
        """
        told: dict[str, Told] = {}
        seen: dict[str, Seen] = {}
        for test in self._in_turn(statuses):
            if deadline.passed:
                break
            found = self._look(test, ask)
            if found is None:
                continue
            seen[test.id] = found
            if statuses[test.id] in REPEATED:
                told[test.id] = found.words or Told(_OTHERWISE[test.visibility])
        pictures = tuple(
            itertools.chain.from_iterable(seen[test].pictures for test in statuses if test in seen)
        )
        first = words = Words(told, evidence=Evidence(pictures))
        yield words
        if told and not deadline.passed:
            for words in self._with_reasons(ask, statuses, seen, first, deadline, workshop):
                yield words
        for of_lost in losses.told(self._lost(statuses, lost), self._repeated, deadline):
            yield replace(words, tests={**words.tests, **of_lost})

    def _with_reasons(
        self,
        ask: Ask,
        statuses: Mapping[str, Status],
        seen: Mapping[str, Seen],
        words: Words,
        deadline: Deadline,
        workshop: Workshop,
    ) -> Iterator[Words]:
        """The words with the mistakes that explain wrong answers, then with the steps, then lines.

        Who hears of a line at which an answer can be mended need not hear of the steps.
        """
        answers = self._answers(statuses, seen)
        findings = diagnose(self._mistakes, answers, deadline)
        unnamed = {
            name: own
            for name, own in answers.items()
            if name not in findings and name not in self._mistakes.dropped_from
        }
        words = replace(words, wrong=nameless(self._mistakes, unnamed))
        named = {test: self._named(test, told, findings) for test, told in words.tests.items()}
        yield replace(words, tests=named)
        failed = self._failed(statuses)
        followed = follow(self._mistakes, lambda call: opened(ask(call)), answers, failed, deadline)
        placed = {
            test: _followed(told, test, followed.get(self._suite.tests[test].exercise))
            for test, told in named.items()
        }
        walks = tuple(one.walk for one in followed.values() if one.walk is not None)
        evidence = replace(words.evidence, walks=walks)
        words = replace(words, wrong=_suspected(words.wrong, {}, walks))
        yield replace(words, tests=placed, evidence=evidence)
        if deadline.passed:
            return
        mended = workshop.mended(self._mistakes, self._asked(statuses, seen), deadline)
        for test, told in named.items():
            exercise = self._suite.tests[test].exercise
            if exercise in mended and mended[exercise].is_of(statuses[test]):
                placed[test] = _mended(told, mended[exercise], self._suite.assignment.show_edits)
        evidence = replace(evidence, mendings=tuple(workshop.mendings))
        words = replace(words, wrong=_suspected(words.wrong, mended, walks))
        yield replace(words, tests=placed, evidence=evidence)

    def _asked(
        self, statuses: Mapping[str, Status], seen: Mapping[str, Seen]
    ) -> dict[str, list[Asked]]:
        """By exercise, in the assignment's order, the plain calls whose right answer is known."""
        asked: dict[str, list[Asked]] = {name: [] for name in self._suite.assignment.points}
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
                    own.append(Asked(test.exercise, question, right))
            unanswered = seen[test.id].unanswered
            if unanswered is not None:
                own.append(that_raised(self._mistakes, test.exercise, unanswered))
        return asked

    def _lost(self, statuses: Mapping[str, Status], said: Mapping[str, str]) -> list[Lost]:
        tests = self._suite.tests
        return [
            Lost(test, tests[test].exercise, statuses[test], said[test])
            for test in said
            if test in tests
        ]

    def _repeated(self, test: str, ask: Ask) -> BaseException | None:
        """What a test raises now."""
        self._interview = Interview(ask, ())
        return self._suite.run(test, self._bench).raised

    def names(
        self, ask: Ask, statuses: Mapping[str, Status]
    ) -> tuple[dict[str, str], dict[str, int]]:
        """By exercise, the mistake that explains its failed tests, where one does.

        And how many answers are wrong in tests whose answers can name one.
        """
        seen = {
            test.id: found
            for test in self._in_turn(statuses)
            if (found := self._look(test, ask)) is not None
        }
        answers = self._answers(statuses, seen)
        findings = diagnose(self._mistakes, answers)
        cases = {name: wrong_cases(self._mistakes, own) for name, own in answers.items()}
        return {name: finding.diagnosis.mistake for name, finding in findings.items()}, cases

    def wrong_answers(self, ask: Ask, exercise: str) -> WrongAnswers | None:
        """The wrong answers to an exercise, whatever explains them; None if there are none."""
        own = [test for test in self._suite.tests.values() if test.exercise == exercise]
        seen = filter(None, (self._look(test, ask) for test in own))
        answers = [one for found in seen for one in found.observations]
        return next(iter(nameless(self._mistakes, {exercise: answers})), None)

    def _in_turn(self, statuses: Mapping[str, Status]) -> Iterator[Test]:
        """The tests to look at: what was not passed, then what helps to tell why."""
        tests = [self._suite.tests[test] for test in statuses if test in self._suite.tests]
        yield from (test for test in tests if statuses[test.id] in REPEATED)
        wrong = self._with(statuses, (Status.FAILED, Status.ERROR))
        if not wrong:
            return
        lost = self._with(statuses, LOST)
        passed = [test for test in tests if statuses[test.id] is Status.PASSED]
        for test in passed:
            if test.exercise in wrong and test.aspect in WATCHED_ASPECTS:
                yield test
        for test in passed:
            if test.exercise not in wrong | lost and test.aspect is Aspect.VALUES:
                yield test

    def _look(self, test: Test, ask: Ask) -> Seen | None:
        """What comes of a test; nothing where the submission hung, crashed or was late."""
        asked, seen = self._memory.follow(test.id, ask)
        if seen is not None:
            return seen
        self._interview = Interview(ask, asked)
        self._observations.clear()
        raised = self._suite.run(test.id, self._bench).raised
        if isinstance(raised, StudentFault) and raised.status not in REPEATED:
            return None
        observations = tuple(self._observations.get(test.exercise, ()))
        pictures: Iterable[Picture] = ()
        if isinstance(raised, WrongNumbers) and test.visibility is Visibility.PUBLIC:
            pictures = raised.pictures(test.id)
        words = None if raised is None else words_of(raised, test.about)
        unanswered = self._unanswered(test, raised, len(observations))
        seen = Seen(words, observations, tuple(pictures), unanswered)
        if sum(one.value.numel() for one in observations) <= _MOST_NUMBERS:
            self._memory.learn(test.id, self._interview.asked, seen)
        return seen

    def _unanswered(self, test: Test, raised: object, number: int) -> Question | None:
        """The call that raised, if nothing but a value was wanted of it."""
        asked = self._interview.asked if self._interview is not None else []
        if not isinstance(raised, StudentFault) or raised.status is not Status.ERROR or not asked:
            return None
        if raised.settled:
            return None
        call = asked[-1].call
        return Question(test.id, number, test.aspect, call) if call.is_plain else None

    def _ask(self, call: Call) -> Answer:
        if self._interview is None:
            raise RuntimeError("a test asked for a submission while none was being explained")
        return self._interview.ask(call)

    def _failed(self, statuses: Mapping[str, Status]) -> dict[str, list[str]]:
        failed: dict[str, list[str]] = {}
        for test, status in statuses.items():
            if status is Status.FAILED and test in self._suite.tests:
                failed.setdefault(self._suite.tests[test].exercise, []).append(test)
        return failed

    def _with(self, statuses: Mapping[str, Status], wanted: Collection[Status]) -> set[str]:
        """The exercises of which a test ended so."""
        return {
            self._suite.tests[test].exercise
            for test, status in statuses.items()
            if status in wanted and test in self._suite.tests
        }

    def _answers(
        self, statuses: Mapping[str, Status], seen: Mapping[str, Seen]
    ) -> dict[str, list[Observation]]:
        """The answers of failed exercises, in the order of the assignment."""
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
    wrong: Iterable[WrongAnswers], mended: Mapping[str, Mended], walks: Sequence[Walk]
) -> tuple[WrongAnswers, ...]:
    return tuple(replace(one, suspicion=suspicion(one.exercise, mended, walks)) for one in wrong)


def _mended(words: Told, mended: Mended, shown: bool) -> Told:
    """The words, and the line at which what they are about can be mended."""
    said = plain(mended.in_words(words.diagnosis is not None, shown))
    message = "\n".join(filter(None, [words.message, said]))
    place = mended.places[0]
    where = Where(plain(place.file), place.line)
    return words._replace(message=message, where=where)


def _followed(words: Told, test: str, followed: Followed | None) -> Told:
    """The words, and what of a call's steps is right, or where its answer stops being numbers.

    That line shows what is wrong, and seldom is.
    """
    if followed is None:
        return words
    message = "\n".join(filter(None, [words.message, plain(followed.in_words(test))]))
    return words._replace(message=message)
