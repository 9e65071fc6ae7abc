"""Code that an edit exchanges in a running program, and the alarm that ends a long call."""

from __future__ import annotations

import contextlib
import signal
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from grader.core.wire.calls import Call
from grader.core.wire.trials import TextChange, Trials
from grader.worker.trials import alarm as alarms
from grader.worker.trials.alarm import Alarm, TooLong
from grader.worker.trials.exchange import CannotExchange, LoadedSource, parts_of
from grader.worker.trials.memory import State
from tests.harness.loaded_programs import Loaded, edit, loading, trying

pytestmark = pytest.mark.unit

X = torch.tensor([1.0, 2.0])


@pytest.fixture
def loaded(tmp_path, monkeypatch) -> Iterator[Loaded]:
    """A function that loads a program as a module."""
    monkeypatch.syspath_prepend(str(tmp_path))
    with loading(tmp_path) as load:
        yield load


# --- Exchange ------------------------------------------------------------------------------------


def test_parts_of_a_file_have_their_lines_and_the_names_that_they_read():
    text = (
        "import torch\nA = B + C; D = 1\n@cached\ndef f(x=E, *, y=F, z): return G\n"
        "class K:\n    def m(self): return 1\n    n: int = 3\nH: int\nI: int = J\n"
    )
    parts = list(parts_of(text, lambda own: compile(own, "file", "exec", dont_inherit=True)))
    seen = [(text[one.start : one.end].split("\n")[0], set(one.reads)) for one in parts]
    assert seen == [
        ("import torch", set()),
        ("A = B + C; D = 1", {"B", "C"}),
        ("@cached", {"E", "F"}),
        ("class K:", set()),
        ("H: int", set()),
        ("I: int = J", {"J"}),
    ]
    function, kind = parts[2], parts[3]
    assert [key for key in function.codes] == [("f", 0)]
    assert [key for key in kind.codes][-1] == ("K.m", 0)
    assert function.holds(TextChange(function.start, function.end, ""))
    assert not function.holds(TextChange(function.start - 1, function.end, ""))
    assert not function.holds(TextChange(function.start, function.end + 1, ""))


@pytest.mark.parametrize(
    ("program", "pairs", "value"),
    [
        ("A = 3\nB = A * 2\ndef run_x(x): return x * B\n", [("3", "4")], 8),
        ("A = 3\ndef f(x, by=A): return x * by\ndef run_x(x): return f(x)\n", [("3", "4")], 4),
        ("def f(x, *, by=3): return x * by\ndef run_x(x): return f(x)\n", [("3", "4")], 4),
        ("class K:\n    @staticmethod\n    def f(x, by=3): return x * by\n"
         "def run_x(x): return K.f(x)\n", [("by=3", "by=4")], 4),
        ("def f(x):\n    a = 1\n    b = 2\n    return x * (a + b)\ndef run_x(x): return f(x)\n",
         [("a = 1", "a = 3"), ("b = 2", "b = 5")], 8),
        ("def f(x): return x\ndef g(x): return x\ndef run_x(x): return f(x) * g(x)\n",
         [("f(x): return x", "f(x): return 2"), ("g(x): return x", "g(x): return 3")], 6),
    ],
)  # fmt: skip
def test_an_edited_program_answers_as_if_it_were_loaded_anew(
    loaded, tmp_path, program, pairs, value
):
    """Later values that are made of a changed one are made again; nothing stays."""
    module = loaded(program)
    before = module.run_x(1)
    one = trying(module, tmp_path)
    call = Call("run_x", {"x": torch.tensor(1.0)})
    outcomes = one.perform(Trials([call], 0, [edit(module, *pairs)], 30.0))
    assert outcomes.of(0, 0).item() == value
    assert module.run_x(1) == before


def test_a_value_is_exchanged_in_the_modules_that_imported_it(loaded, tmp_path):
    first = loaded("BY = 3\nOTHER = 3\n")
    module = loaded(f"from {first.__name__} import BY\ndef run_x(x): return x * BY\n")
    one = trying(module, tmp_path)
    outcomes = one.perform(Trials([Call("run_x", {"x": X})], 1, [edit(first, ("3", "2"))], 30.0))
    assert outcomes.of(0, 0).tolist() == [2, 4]
    assert (module.BY, first.BY) == (3, 3)


@pytest.mark.parametrize("new", ["A = 1 / 0", "A = (", "raise SystemExit"])
def test_an_edit_that_cannot_be_loaded_is_impossible(loaded, new):
    module = loaded("A = 3\ndef run_x(x): return x * A\n")
    source = LoadedSource(Path(module.__file__), [module.run_x])
    with pytest.raises(CannotExchange):
        source.exchange_for([TextChange(0, 5, new)])
    assert module.A == 3


def test_a_new_name_is_removed_again(loaded, tmp_path):
    module = loaded("A = 3\ndef run_x(x): return x\n")
    state = State(f"{tmp_path}", [module])
    source = LoadedSource(Path(module.__file__), [module.run_x])
    for swap in source.exchange_for([TextChange(0, 5, "A = B = 4")]):
        swap()
    assert (module.A, module.B) == (4, 4)
    state.restore()
    assert module.A == 3
    assert not hasattr(module, "B")


# --- The alarm -----------------------------------------------------------------------------------


def test_an_alarm_ends_a_call_and_is_off_afterwards(monkeypatch):
    """It rings once here, so that no second ring meets the test itself."""
    monkeypatch.setattr(alarms, "_AGAIN_SECONDS", 600)
    one = Alarm(waiting=0.5)
    earlier = signal.getsignal(signal.SIGALRM)
    with one.held():
        one.set(0.05)
        with pytest.raises(TooLong):
            endless()
        one.set(0)
        assert one._over is None
        assert not one._is_due
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is earlier


def rung_for_ever(alarm: Alarm, frame: types.FrameType) -> None:
    while True:
        alarm._ring(0, frame)


def endless() -> None:
    while True:
        pass


def test_an_idle_call_may_take_several_times_as_long(monkeypatch):
    """Processor time counts, and the time by the clock only far beyond it."""
    now = types.SimpleNamespace(process_time=lambda: times[0], monotonic=lambda: times[1])
    times = [5.0, 100.0]
    monkeypatch.setattr(alarms, "time", now)
    monkeypatch.setattr(signal, "setitimer", lambda *_: None)
    for waiting, limit in ((4, 108.0), (2, 104.0)):
        one = Alarm(waiting)
        times[:] = [5.0, 100.0]
        one.set(2.0)
        for taken, wall, is_due in (
            (7.0, 100.0, True),
            (6.9, limit - 0.1, False),
            (5.0, limit, True),
        ):
            times[:] = [taken, wall]
            assert one._is_due is is_due


def test_time_in_which_modules_are_imported_does_not_count(monkeypatch):
    """A module that was added begins the time again."""
    monkeypatch.setattr(signal, "setitimer", lambda *_: None)
    one = Alarm()
    one.set(1e-9)
    frame = sys._getframe()
    sys.modules["added_by_a_test"] = types.ModuleType("added_by_a_test")
    try:
        one._ring(0, frame)
        with pytest.raises(TooLong):
            rung_for_ever(one, frame)
    finally:
        del sys.modules["added_by_a_test"]
    one._ring(0, None)


def test_an_interruption_is_passed_on_even_if_it_was_swallowed(monkeypatch):
    monkeypatch.setattr(signal, "setitimer", lambda *_: (0.0, 0.0))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    one = Alarm()
    try:
        with one.held():
            one.go_on()
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                one.go_on()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        with one.held():
            one.go_on()
        one._interrupt(0, None)
        with pytest.raises(KeyboardInterrupt):
            one.go_on()
    finally:
        signal.signal(signal.SIGINT, before)
