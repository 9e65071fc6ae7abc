"""Runs tests again: failed ones on the students' inputs, and ones that hung or crashed."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.core.causes import NOT_CALLED
from grader.core.evidence import Picture
from grader.core.explanation import Told
from grader.core.text import plain
from grader.core.verdict import Status, Verdict, Visibility, Where
from grader.core.wire.calls import Answer, Call
from grader.core.wire.records import Line
from grader.explain.answers import InFull, words_of
from grader.explain.deadline import Deadline, still_running, what_runs
from grader.explain.excerpts import lines_of
from grader.sandbox.session import Session
from grader.testing.assertions import WrongNumbers
from grader.testing.cases import SEED, fresh_case
from grader.testing.handles.bench import Bench
from grader.testing.outcome import Observation, Question, StudentFault
from grader.testing.outcome_cache import Ask, CallReplay, OutcomeCache
from grader.testing.suite import Suite, Test

# By the outcome on the inputs that an explanation is about, and the graded outcome.
GRADED = {
    (Status.FAILED, Status.ERROR): "With the graded inputs, the submission raised an exception.",
    (Status.ERROR, Status.FAILED): "With the graded inputs, the submission gave a wrong answer.",
}
REPEATED = (Status.FAILED, Status.ERROR, Status.MISSING)

# Bounds the memory for a class: each remembered outcome holds whole tensors.
_MOST_OUTCOMES = 12
_MOST_NUMBERS = 1 << 14


@dataclass(frozen=True, slots=True)
class RerunResult:
    """The result of a test on a student's inputs: words if the test failed, answers, pictures.

    `status` is the outcome on these inputs, which may not be the graded one. `unanswered` is the
    plain call at which the submission raised, or None.
    """

    status: Status
    words: Told | None
    observations: tuple[Observation, ...]
    pictures: tuple[Picture, ...]
    unanswered: Question | None = None

    def told(self, graded: Status) -> Told | None:
        """Returns the words, with a remark if the graded outcome of the test is another."""
        remark = GRADED.get((self.status, graded))
        if self.words is None or remark is None:
            return self.words
        return self.words._replace(message=f"{self.words.message}\n{remark}")


class Rerun:
    """A runner of an open suite's tests, on any submission.

    A test's result follows from the answers to its calls. The result is remembered and reused for
    every submission that gives the same answers.
    """

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self._cache = OutcomeCache[RerunResult](_MOST_OUTCOMES)
        self._replay: CallReplay | None = None
        self._observations: dict[str, list[Observation]] = {}
        self._bench = Bench(
            suite.contract,
            self._ask,
            suite.references,
            functools.cache(functools.partial(fresh_case, SEED)),
            SEED,
            InFull(),
            observations=self._observations,
        )

    def look(self, test: Test, ask: Ask) -> RerunResult | None:
        """Returns the rerun result of a test; None if the submission hung, crashed or was late."""
        asked, seen = self._cache.follow(test.id, ask)
        if seen is not None:
            return seen
        self._replay = CallReplay(ask, asked)
        self._observations.clear()
        raised = self._suite.run(test.id, self._bench).raised
        status = _status_of(raised)
        if status not in (Status.PASSED, *REPEATED):
            return None
        observations = tuple(self._observations.get(test.exercise, ()))
        pictures: Iterable[Picture] = ()
        if isinstance(raised, WrongNumbers) and test.visibility is Visibility.PUBLIC:
            pictures = raised.pictures(test.id)
        words = None if raised is None else words_of(raised, test.about)
        unanswered = self._unanswered(test, raised, len(observations))
        seen = RerunResult(status, words, observations, tuple(pictures), unanswered)
        if sum(one.value.numel() for one in observations) <= _MOST_NUMBERS:
            self._cache.learn(test.id, self._replay.asked, seen)
        return seen

    def _unanswered(self, test: Test, raised: object, number: int) -> Question | None:
        """Returns the call that raised, if it is a plain call for a value."""
        asked = self._replay.asked if self._replay is not None else []
        if not isinstance(raised, StudentFault) or raised.status is not Status.ERROR or not asked:
            return None
        if raised.settled:
            return None
        call = asked[-1].call
        return Question(test.id, number, test.aspect, call) if call.is_plain else None

    def _ask(self, call: Call) -> Answer:
        if self._replay is None:
            raise RuntimeError("a test asked for a submission while none was being explained")
        return self._replay.ask(call)

    def raised(self, test: str, ask: Ask) -> BaseException | None:
        """Returns the exception that a test raises now, or None."""
        self._replay = CallReplay(ask, ())
        return self._suite.run(test, self._bench).raised


def _status_of(raised: BaseException | None) -> Status:
    """Returns the outcome of a test that raised an exception, or none."""
    if isinstance(raised, StudentFault):
        return raised.status
    return Status.PASSED if raised is None else Status.FAILED


LOST = (Status.TIMEOUT, Status.CRASHED)
# Wait for a hang that is probably the known one: long enough to dump the stack.
_AGAIN_SECONDS = 0.5
# A line of `faulthandler`, which writes the innermost frame first.
_FRAME = re.compile(r'^ *File "(.{1,500})", line (\d{1,7}) in (.{1,500})', re.MULTILINE)
_ESCAPED = re.compile(r"\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|\\U(00(?:0[0-9a-f]|10)[0-9a-f]{4})")
_TOOK = re.compile(r" took longer than (?P<seconds>[\d.]+) seconds.* was stopped(?P<why>.*)$")
_LONGEST_LINE = 300


Repeat = Callable[[str, Ask], BaseException | None]


class LostTests:
    """The lost tests of one submission, which run again to find the line at which it hangs.

    The worker's stack dump names the line. The grader believes it only if one of the submission's
    own files has that line. A test waits for the full time once, and only briefly if the same
    function hangs again. A loop has several lines: all tests that hang in one function get the
    line that was found first.
    """

    def __init__(self, session: Session, root: Path) -> None:
        self._replay = session
        self._root = root
        self._places: dict[str, Line] = {}

    def told(
        self, lost: Sequence[Verdict], repeat: Repeat, deadline: Deadline
    ) -> Iterator[Mapping[str, Told]]:
        """Yields the words for lost tests, given their verdicts, for more tests with each step.

        `repeat` runs one test again with a given way to ask. Only the first lost test of each
        exercise runs again. The other tests that hung get the line of the first.
        """
        told: dict[str, Told] = {}
        for exercise in dict.fromkeys(one.exercise for one in lost):
            first, *others = [one for one in lost if one.exercise == exercise]
            if deadline.passed:
                return
            fault, line, is_known = self._repeated(first, repeat)
            if fault is None:
                continue
            printed = fault.message.splitlines()[1:]
            if line is None:
                told[first.id] = Told(plain("\n".join([first.message or "", *printed])))
            else:
                told[first.id] = self._hang(first, line, is_known, printed)
                hung = [one for one in others if one.status is Status.TIMEOUT]
                told |= {one.id: self._hang(one, line, is_known=True) for one in hung}
            yield told

    def _hang(self, one: Verdict, line: Line, is_known: bool, printed: Sequence[str] = ()) -> Told:
        adapter, not_called, said = (one.message or "").rpartition(NOT_CALLED)
        is_known = is_known and not not_called
        told = hang_told(said, line, printed, is_known)
        return told._replace(message=f"{adapter}{not_called}{told.message}")

    def line(self) -> Line | None:
        """Returns the innermost submission line in the last stack dump, or None."""
        return next((line for line, _ in self._lines()), None)

    def _lines(self) -> Iterator[tuple[Line, str]]:
        """Yields the submission's lines in the last stack dump, each with its function."""
        for file, number, function in _FRAME.findall(self._replay.stack_dump):
            text = _ESCAPED.sub(lambda found: chr(int(found[found.lastindex or 1], 16)), file)
            name = text.removeprefix(f"{self._root}/")
            lines = lines_of(self._root, name)
            if 1 <= int(number) <= len(lines):
                source = lines[int(number) - 1].strip()[:_LONGEST_LINE]
                yield Line(name, int(number), source), f"{name} {function}"

    def _repeated(
        self, one: Verdict, repeat: Repeat
    ) -> tuple[StudentFault | None, Line | None, bool]:
        """Returns a lost test's fault and line, and whether the same function hung before."""
        if one.status is not Status.TIMEOUT:
            return self._fault(one, repeat, math.inf), None, False
        for seconds in (_AGAIN_SECONDS, math.inf) if self._places else (math.inf,):
            fault = self._fault(one, repeat, seconds)
            line, function = next(self._lines(), (None, ""))
            is_known = function in self._places
            if is_known or line is None:
                break
        if fault is None or line is None:
            return fault, None, False
        return fault, self._places.setdefault(function, line), is_known

    def _fault(self, one: Verdict, repeat: Repeat, seconds: float) -> StudentFault | None:
        raised = repeat(one.id, lambda call: self._replay.ask(call, seconds))
        if isinstance(raised, StudentFault) and raised.status in LOST:
            return raised
        return None


def hang_told(said: str, line: Line, printed: Sequence[str], is_known: bool = False) -> Told:
    """Returns the words for a hang, the same as at home.

    If the judge `said` why the time limit was shorter, the words repeat that reason.
    """
    took = _TOOK.search(said)
    if took is None:
        headline = f"{said} ({plain(f'{line.file}:{line.line}')})"
    else:
        headline = f"{still_running(float(took['seconds']), line, is_known)}{took['why']}"
    message = plain("\n".join([headline, *what_runs(line), *printed]))
    return Told(message, where=Where(plain(line.file), line.line))
