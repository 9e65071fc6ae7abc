"""Reruns of the tests beside a failed one, which explain one test as well as a full run would."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from grader.core.verdict import COUNTED_ASPECTS, Aspect, Status
from grader.core.wire.calls import Answer, Call
from grader.home.time_limit import own_time
from grader.testing.cases import Draw, fixture_file
from grader.testing.exercise import Membership, membership
from grader.testing.handles.bench import Bench
from grader.testing.outcome import Observation, Question, StudentFault, running_a_test

# These tests make large calls, and look at gradients or operations rather than answers.
NOT_TELLING = (Aspect.GRADIENTS, *COUNTED_ASPECTS)

Siblings = Mapping[str, Sequence[pytest.Function]]


@dataclass(slots=True)
class RerunAnswers:
    """The results of an exercise's tests: plain answers, plain calls that raised, and failed tests.

    `is_whole` tells whether all of the tests ran.
    """

    observations: list[Observation] = field(default_factory=list)
    raised: list[Question] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)
    is_whole: bool = True


def siblings(item: pytest.Item, order: Sequence[str]) -> Siblings:
    """Returns by exercise the frozen tests in a test's folder, including the test itself.

    The result does not depend on which tests pytest selected.
    """
    own = item.getparent(pytest.Module)
    found: dict[str, list[pytest.Function]] = {name: [] for name in order}
    if own is None or own.parent is None:
        return found
    for path in sorted(own.path.parent.glob("test_*.py")):
        if not fixture_file(path).is_file():
            continue
        module = own if path == own.path else pytest.Module.from_parent(own.parent, path=path)
        for test in _functions(module):
            member = membership(test)
            if member is not None:
                found.setdefault(member.exercise, []).append(test)
    return found


def rerun(
    tests: Sequence[pytest.Function], bench: Bench, ask: Callable[[Call], Answer], end: float
) -> RerunAnswers:
    """Runs an exercise's tests with `ask` in the place of the bench's calls; keeps their answers.

    Leaves out tests with an aspect of NOT_TELLING. Begins no test after `own_time` reached `end`,
    nor after a call that took too long. The time of a test that imports modules does not count:
    later tests find them imported.
    """
    reran = RerunAnswers()
    for test in tests:
        member = membership(test)
        if member is None or member.aspect in NOT_TELLING:
            continue
        if own_time() > end:
            reran.is_whole = False
            break
        began, modules = own_time(), len(sys.modules)
        if not _run(test, member, bench, ask, reran):
            reran.is_whole = False
            break
        if len(sys.modules) > modules:
            end += own_time() - began
    return reran


def passes(test: pytest.Function, bench: Bench, ask: Callable[[Call], Answer]) -> bool:
    """Returns whether a test can be run, and passes in time, when `ask` answers its calls."""
    member, reran = membership(test), RerunAnswers()
    if member is None or _arguments(test, member, bench) is None:
        return False
    return _run(test, member, bench, ask, reran) and test.nodeid not in reran.failed


def _run(
    test: pytest.Function,
    member: Membership,
    bench: Bench,
    ask: Callable[[Call], Answer],
    reran: RerunAnswers,
) -> bool:
    """Runs one test; returns whether its calls ended in time."""
    latest: list[Call] = []

    def asked(call: Call) -> Answer:
        latest[:] = [call]
        return ask(call)

    seen: dict[str, list[Observation]] = {}
    own = dataclasses.replace(bench, ask=asked, observations=seen)
    arguments = _arguments(test, member, own)
    if arguments is None:
        return True
    try:
        with running_a_test():
            test.obj(**arguments)
    except StudentFault as fault:
        reran.failed.add(test.nodeid)
        raised = fault.status is Status.ERROR and not fault.settled
        if raised and latest and latest[0].is_plain:
            number = len(seen.get(member.exercise, ()))
            question = Question(test.nodeid, number, member.aspect, latest[0])
            reran.raised.append(question)
        elif fault.status is Status.TIMEOUT:
            return False
    except (Exception, pytest.fail.Exception, pytest.skip.Exception):
        reran.failed.add(test.nodeid)
    reran.observations += seen.get(member.exercise, ())
    return True


def _arguments(test: pytest.Function, member: Membership, bench: Bench) -> dict[str, object] | None:
    """Returns the arguments for the test's function; None if it needs another fixture."""
    case = bench.case_of(test.nodeid).rewind()
    fixtures: dict[str, Callable[[], object]] = {
        "case": lambda: case,
        "draw": lambda: Draw(case),
        "student": lambda: bench.student(member, test.nodeid),
        "reference": lambda: bench.reference(member.exercise, case),
    }
    chosen = test.callspec.params if hasattr(test, "callspec") else {}
    wanted = inspect.signature(test.obj).parameters
    if any(name not in fixtures and name not in chosen for name in wanted):
        return None
    try:
        return {name: chosen[name] if name in chosen else fixtures[name]() for name in wanted}
    except StudentFault:
        return None


def _functions(collector: pytest.Collector) -> Iterator[pytest.Function]:
    try:
        nodes = list(collector.collect())
    except (Exception, pytest.fail.Exception, pytest.skip.Exception):
        return
    for node in nodes:
        if isinstance(node, pytest.Function):
            yield node
        elif isinstance(node, pytest.Collector):
            yield from _functions(node)
