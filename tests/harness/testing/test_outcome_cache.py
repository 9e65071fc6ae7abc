"""The cache of outcomes: equal answers to a test reach the same verdict without running it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.core.evidence import Evidence
from grader.core.verdict import Aspect, Grade, Status, Verdict, Visibility
from grader.core.wire.calls import Answer, Call
from grader.testing.outcome import StudentFault
from grader.testing.outcome_cache import (
    MOST_HELD,
    AnsweredCall,
    CallReplay,
    OutcomeCache,
)

pytestmark = pytest.mark.unit

TEST = "tests/public/test_x.py::test_y"
FIRST, SECOND = Call("run_x", {"n": 1}), Call("run_x", {"n": 2})


def verdict_with(status: Status) -> Verdict:
    """Returns a test's verdict with this status."""
    return Verdict(TEST, "run_x", Aspect.VALUES, status, 0.0, 1.0, Visibility.PUBLIC)


class Submission:
    """A submission with given answers and a list of its calls; None stands for a late answer."""

    def __init__(self, *answers: int | None, digested: bool = True) -> None:
        self._answers = iter(answers)
        self._digested = digested
        self.calls: list[object] = []

    def ask(self, call: Call) -> Answer:
        """Returns the next answer."""
        self.calls.append(call.arguments["n"])
        value = next(self._answers)
        if value is None:
            raise StudentFault(Status.TIMEOUT, "too late")
        return Answer(value=value, digest=bytes([value]) if self._digested else None)


def cache_of_answers(*answers: int | None, digested: bool = True) -> OutcomeCache:
    """Returns a cache of one test with two calls that got these answers."""
    replay, status = (
        CallReplay(Submission(*answers, digested=digested).ask, ()),
        Status.PASSED,
    )
    try:
        for call in (FIRST, SECOND):
            replay.ask(call)
    except StudentFault:
        status = Status.TIMEOUT
    cache = OutcomeCache()
    cache.learn(TEST, replay.asked, verdict_with(status))
    return cache


def test_the_verdict_of_a_test_with_too_many_calls_is_not_remembered():
    """An endless iterator gives as many answers as a test asks for."""
    cache, calls = OutcomeCache(most=8), 9
    answer = Answer(value=4, digest=b"4")
    cache.learn(TEST, [AnsweredCall(FIRST, answer)] * calls, verdict_with(Status.FAILED))
    assert cache.follow(TEST, Submission(4).ask) == ([], None)


def test_the_memory_of_calls_with_large_arguments_is_bounded():
    """A test may pass an answer on as an argument, and a class gives many different answers."""
    cache = OutcomeCache()
    for number in range(200):
        own = Call("run_x", {"n": bytes([number]) * (1 << 20)})
        answer = Answer(value=b"", digest=bytes([number]), size=1 << 20)
        cache.learn(
            f"{TEST}[{number}]", [AnsweredCall(FIRST, answer), AnsweredCall(own, answer)], 1
        )
    kept = sum(bool(cache.follow(f"{TEST}[{n}]", Submission(n, n).ask)[0]) for n in range(200))
    assert 1 <= kept <= 32


def test_equal_answers_get_the_remembered_verdict():
    """Every call is still made, because an answer is never assumed."""
    submission = Submission(5, 6)
    asked, outcome = cache_of_answers(5, 6).follow(TEST, submission.ask)
    assert outcome == verdict_with(Status.PASSED)
    assert submission.calls == [one.call.arguments["n"] for one in asked] == [1, 2]


def test_a_different_answer_gets_no_remembered_verdict():
    """The test then runs, and reuses the answers that were already given."""
    cache = cache_of_answers(5, 6)
    for answers, calls in (((5, 7), [1, 2]), ((4,), [1])):
        submission = Submission(*answers, 9)
        asked, outcome = cache.follow(TEST, submission.ask)
        assert outcome is None
        replay = CallReplay(submission.ask, asked)
        assert replay.ask(FIRST).value == answers[0]
        assert replay.ask(SECOND).value == (answers[1] if len(answers) > 1 else 9)
        assert submission.calls == [1, 2]
        assert calls == [one.call.arguments["n"] for one in asked]


def test_a_call_without_a_remembered_answer_reaches_the_submission():
    """A test may take another path than the remembered one."""
    submission = Submission(5, 8)
    asked = [AnsweredCall(FIRST, submission.ask(FIRST))]
    assert CallReplay(submission.ask, asked).ask(SECOND).value == 8


def test_a_missing_answer_is_never_remembered():
    """A submission that is late once may be in time the next time, and vice versa."""
    cache = cache_of_answers(5, None)
    asked, outcome = cache.follow(TEST, Submission(5, 6).ask)
    assert outcome is None
    assert len(asked) == 2
    asked, outcome = cache_of_answers(5, 6).follow(TEST, Submission(5, None).ask)
    assert outcome is None
    assert isinstance(asked[-1].answer, StudentFault)


def test_a_call_too_large_to_be_sent_is_no_fault_of_the_grader():
    """A test may pass large answers on, all in one call; its fault stays the same when repeated."""
    large = Call("run_x", {"n": 2, "all": [f"{number:0150}" for number in range(40_000)]})
    fault = AnsweredCall(large, StudentFault(Status.CRASHED, "cannot be called"))
    cache = OutcomeCache()
    first = AnsweredCall(FIRST, Answer(value=5, digest=b"5"))
    cache.learn(TEST, [first, fault], verdict_with(Status.CRASHED))
    asked, outcome = cache.follow(TEST, lambda _: Answer(value=5, digest=b"5"))
    assert ([one.call for one in asked], outcome) == ([FIRST], None)
    replay = CallReplay(Submission(None).ask, [fault])
    with pytest.raises(StudentFault, match="too late"):
        replay.ask(replace(large))


def test_answers_without_a_digest_are_not_remembered():
    """Without a digest, answers cannot be compared."""
    cache = cache_of_answers(5, 6, digested=False)
    assert cache.follow(TEST, Submission(5, 6, digested=False).ask)[1] is None


def test_only_the_latest_of_many_different_answers_are_remembered():
    """The cache stays small even in a batch of ten thousand."""
    cache = OutcomeCache()
    for value in range(200):
        answer = Answer(value=value, digest=bytes([value]))
        cache.learn(TEST, [AnsweredCall(FIRST, answer)], verdict_with(Status.FAILED))
    assert cache.follow(TEST, Submission(199).ask)[1] is not None
    assert cache.follow(TEST, Submission(3).ask)[1] is None


def without_costs(grade: Grade) -> Evidence:
    """Returns a grade's evidence without the number of edits and calls and the seconds."""
    repairs = (replace(one, edits=0, seconds=0.0) for one in grade.evidence.repairs)
    return replace(grade.evidence, repairs=tuple(repairs))


@pytest.mark.process
def test_the_second_of_two_equal_submissions_is_graded_like_the_first(grade):
    """All fields but the durations are equal, also the diagnosis and line of a wrong submission."""
    for text in (
        "def run_double(x):\n    return 3 * x\n",
        "def run_double(x):\n    return 2 * x\n",
    ):
        first, second = grade(text).grade, grade(text).grade
        assert without_costs(first) == without_costs(second)
        one, other = (
            [verdict._replace(duration_s=0.0) for verdict in each.tests] for each in (first, second)
        )
        assert one == other


def test_answers_to_one_test_are_bounded_together():
    """An adapter that keeps returning megabytes is at fault even if each answer is small enough."""
    answers = (Answer(value=number, size=MOST_HELD // 3) for number in range(4))
    replay = CallReplay(lambda _: next(answers), ())
    for _ in range(3):
        replay.ask(FIRST)
    with pytest.raises(StudentFault, match="take more than 32 MB"):
        replay.ask(FIRST)
    assert sum(one.answer.size for one in replay.asked) <= MOST_HELD
