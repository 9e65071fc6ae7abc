"""Tests that go on after a failure: which statements are passed over, and which still end one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import pytest

from grader.core.verdict import Status
from grader.testing.cases import CaseExhausted
from grader.testing.going_on import GoingOn
from grader.testing.handles.handle import BrokenReference
from grader.testing.outcome import StudentFault

pytestmark = pytest.mark.unit

SOURCE = '''
import functools

def wrapped(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)
    return inner

def test_plain(call):
    """Its docstring stays."""
    call(1)
    assert call(2) == 0
    call(3)
    return 4

def test_in_blocks(call):
    for number in (1, 2):
        if number:
            assert not call(number)
        else:
            pass
        with open(__file__):
            raise_it(call)
            call(number + 10)
    else:
        assert call(5) == 0
    call(6)

def raise_it(call):
    raise LookupError

def test_with_its_own_handlers(call):
    try:
        assert call(1) == 0
        call("never")
    except AssertionError:
        call(2)
    while call(3):
        assert not call(4)
        call("never")

@wrapped
def test_wrapped(call):
    assert not call(1)
    call(2)

class TestIt:
    kept = 7

    def test_method(self, call):
        assert not call(self.kept)
        call(2)

    @classmethod
    def check(cls, call):
        assert not call(cls.kept)
        call(2)

def make(call):
    number = 8
    def closed():
        assert not call(number)
        call(number + 1)
    return closed

SEEN = []
closed = make(lambda value: SEEN.append(value) or value)
'''


@pytest.fixture
def module(tmp_path) -> Iterator[ModuleType]:
    """A module of tests, which is loaded."""
    file = tmp_path / "tests" / "test_going.py"
    file.parent.mkdir()
    file.write_text(SOURCE)
    spec = spec_from_file_location("test_going_of_a_course", file)
    assert spec is not None
    assert spec.loader is not None
    own = module_from_spec(spec)
    sys.modules[own.__name__] = own
    spec.loader.exec_module(own)
    yield own
    del sys.modules[own.__name__]


def calls_of(test: Callable[..., object]) -> tuple[list[object], object]:
    """Returns the calls that a test makes, and its result or the exception that ended it."""
    calls: list[object] = []

    def call(value: object) -> object:
        calls.append(value)
        return value if len(calls) < 20 else 0

    try:
        return calls, test(call)
    except Exception as ended:
        return calls, type(ended)


def test_a_test_makes_all_its_calls_while_it_goes_on(module, tmp_path):
    """Afterwards each test is as before."""
    going_on = GoingOn((tmp_path / "tests",))
    before = {name: calls_of(getattr(module, name)) for name in NAMES}
    with going_on.exchanged():
        during = {name: calls_of(getattr(module, name)) for name in NAMES}
        assert module.test_plain.__doc__ == "Its docstring stays."
        assert calls_of(module.TestIt().test_method) == ([7, 2], None)
        assert calls_of(module.TestIt.check) == ([7, 2], None)
    assert {name: calls_of(getattr(module, name)) for name in NAMES} == before
    assert before["test_plain"] == ([1, 2], AssertionError)
    assert during["test_plain"] == ([1, 2, 3], 4)
    assert before["test_in_blocks"] == ([1], AssertionError)
    assert during["test_in_blocks"] == ([1, 11, 2, 12, 5, 6], None)
    assert before["test_with_its_own_handlers"] == ([1, 2, 3, 4], AssertionError)
    assert during["test_with_its_own_handlers"] == ([1, 2, 3, 4], None)
    assert during["test_wrapped"] == ([1, 2], None)
    assert calls_of(module.TestIt().test_method) == ([7], AssertionError)


NAMES = ("test_plain", "test_in_blocks", "test_with_its_own_handlers", "test_wrapped")


def test_only_functions_of_these_folders_go_on(module, tmp_path):
    """Other modules stay as they are."""
    (tmp_path / "other").mkdir()
    with GoingOn((tmp_path / "other",)).exchanged():
        assert calls_of(module.test_plain) == ([1, 2], AssertionError)
    with GoingOn((tmp_path / "other", tmp_path)).exchanged():
        assert calls_of(module.test_plain) == ([1, 2, 3], 4)
        module.closed()
    assert module.SEEN == [8, 9], "a function that holds on to others' variables goes on too"
    with pytest.raises(AssertionError):
        module.closed()


@pytest.mark.parametrize(
    ("fault", "calls"),
    [
        (StudentFault(Status.ERROR, "raised"), 1),
        (BrokenReference("no reference"), 1),
        (CaseExhausted(), 1),
        (ValueError("a slip"), 3),
        (pytest.fail.Exception("no"), 3),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_call_without_an_answer_still_ends_the_test(module, tmp_path, fault, calls):
    """A submission that raised knows that it failed."""
    made: list[object] = []

    def call(value: object) -> None:
        made.append(value)
        raise fault

    with GoingOn((tmp_path,)).exchanged():
        if calls == 1:
            with pytest.raises(type(fault)):
                module.test_plain(call)
        else:
            assert module.test_plain(call) == 4
    assert len(made) == calls
