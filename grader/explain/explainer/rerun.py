"""Runs tests again on the inputs that students have at home, and keeps what came of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from grader.core.evidence import Picture
from grader.core.replies import Reply
from grader.core.verdict import Status, Visibility
from grader.core.wire.calls import Answer, Call
from grader.core.words import Told
from grader.explain.wording import InFull, words_of
from grader.testing.assertions.assertions import WrongNumbers
from grader.testing.bench import Bench
from grader.testing.frozen_cases import SEED, HomeCases
from grader.testing.observation import Observation, Question
from grader.testing.outcome import StudentFault
from grader.testing.suite.memory import Memory, RememberedSession
from grader.testing.suite.suite import Suite
from grader.testing.suite.test import Test

REPEATED = (Status.FAILED, Status.ERROR, Status.MISSING)

# What a class's answers are remembered for is kept small: each is kept with its numbers.
_MOST_OUTCOMES = 12
_MOST_NUMBERS = 1 << 14

Ask = Callable[[Call], Reply]


@dataclass(frozen=True, slots=True)
class RerunResult:
    """What came of a test on a student's inputs: words if it failed, answers, pictures.

    `unanswered` is the plain call at which the submission raised, if it did.
    """

    words: Told | None
    observations: tuple[Observation, ...]
    pictures: tuple[Picture, ...]
    unanswered: Question | None = None


class Rerun:
    """Runs the tests of an open suite, for whoever is to be asked.

    A test is a function of the answers to its calls: what is equal in a class is looked at once.
    """

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self._memory = Memory[RerunResult](_MOST_OUTCOMES)
        self._interview: RememberedSession | None = None
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

    def look(self, test: Test, ask: Ask) -> RerunResult | None:
        """What comes of a test; nothing where the submission hung, crashed or was late."""
        asked, seen = self._memory.follow(test.id, ask)
        if seen is not None:
            return seen
        self._interview = RememberedSession(ask, asked)
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
        seen = RerunResult(words, observations, tuple(pictures), unanswered)
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

    def raised(self, test: str, ask: Ask) -> BaseException | None:
        """What a test raises now."""
        self._interview = RememberedSession(ask, ())
        return self._suite.run(test, self._bench).raised
