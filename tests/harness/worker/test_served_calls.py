"""A worker's whole life on a socket: it confines itself, loads a submission and answers frames."""

from __future__ import annotations

import dataclasses
import os
import signal
import socket
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.core.processes import DUMP_AT_ONCE, DUMP_IN_PYTHON, Allowance
from grader.core.wire.calls import Answer, Call, CallEncoder, ImportReport, Use, decode_answer
from grader.core.wire.frames import Received, decode, encode, receive
from grader.core.wire.records import read
from grader.core.wire.trials import TextChange, Trials, decode_outcomes, encode_trials
from grader.core.wire.values import Foreign
from grader.worker import serving
from grader.worker.confinement.layers import InheritedState, mapped
from tests.harness.waiting import until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="a worker is confined on Linux"),
]
PROGRAM = """
import os, sys, time
import torch
print("importing")

def run_double(x):
    print("doubling", end="")
    return x * 3

def run_forbidden(x):
    return torch.add(x, x)

def run_much(n):
    return "x" * n

def run_much_that_is_forbidden(n):
    return torch.add(torch.ones(n), 1)

def run_input():
    return sys.stdin.read()

def run_places():
    import tempfile
    return os.environ["HOME"], tempfile.gettempdir(), os.getsid(0) == os.getpid()

def run_descriptors():
    found = []
    for number in range(64):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    return found

def run_hang():
    while True:
        pass

def run_compiled(x):
    return torch.compile(lambda x: x + 1)(x)

def run_pool():
    from multiprocessing import Pool
    with Pool(2) as pool:
        return pool.map(abs, [-1])
"""
X = torch.tensor([1.0, 2.0])


class Served:
    """The judge's end of a worker that this test forked."""

    def __init__(self, folder: Path) -> None:
        root = folder / "root"
        root.mkdir()
        (folder / "scratch").mkdir()
        (root / "served_adapters.py").write_text(textwrap.dedent(PROGRAM))
        self.channel, theirs = socket.socketpair()
        self.printed, output = os.pipe()
        os.set_blocking(self.printed, False)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                # Those of pytest lead elsewhere.
                sys.stdin = os.fdopen(0, closefd=False)
                sys.stdout, sys.stderr = (os.fdopen(n, "w", closefd=False) for n in (1, 2))
                serving.serve(theirs, output, InheritedState(None, (), ("grader",), *mapped(), ()))
            except EOFError:
                os._exit(7)
            finally:
                os._exit(9)
        theirs.close()
        os.close(output)
        self.channel.settimeout(60.0)
        self.calls = CallEncoder()
        self.hello = self.channel.recv(1)
        limits = Allowance(4 << 30, 64 << 20, 1000, 64 << 20, 200, 100, "cpu")
        order = {
            "root": str(root),
            "scratch": str(folder / "scratch"),
            "forbidden": ["torch.add"],
            "bounds": dataclasses.asdict(limits),
            "load": {
                "module": "served_adapters",
                "import_paths": [""],
                "preloaded": [],
                "cell_seconds": None,
            },
        }
        self.confined = decode(self.asked(encode(order, {})))[0]
        self.report = read(ImportReport, decode(self.asked(b""))[0]["imported"])

    def asked(self, frame: bytes) -> Received:
        """Returns the frame that answers a frame."""
        self.channel.sendall(frame)
        return receive(self._exactly)

    def answer(self, adapter: str, **arguments: Any) -> Answer:
        """Returns the answer to a call."""
        return decode_answer(self.asked(self.calls.frame(Call(adapter, arguments))))

    def said(self) -> str:
        """Returns what the worker has printed by now."""
        try:
            return os.read(self.printed, 1 << 16).decode()
        except BlockingIOError:
            return ""

    def _exactly(self, size: int) -> bytearray:
        data = bytearray()
        while len(data) < size:
            more = self.channel.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def close(self) -> int:
        """Hangs up; returns how the worker ended."""
        self.channel.close()
        os.close(self.printed)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture(scope="module")
def made() -> Iterator[Callable[[], Served]]:
    """A function that starts a worker in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        yield lambda: Served(Path(tempfile.mkdtemp(dir=folder)))


@pytest.fixture(scope="module")
def worker(made) -> Iterator[Served]:
    """A worker with a submission."""
    own = made()
    yield own
    own.close()


def test_a_worker_greets_confines_itself_and_reports_the_import(worker):
    assert worker.hello == b"\0"
    assert set(worker.confined) == {"isolation", "kept"}
    assert worker.confined["isolation"]["namespaces"] == "not granted"
    assert worker.report.problem is None
    assert worker.report.adapters[:2] == ("run_compiled", "run_descriptors")
    assert worker.report.uses == ()


def test_output_arrives_before_the_answer(worker):
    """Even without a line end; nothing can be read from the input."""
    worker.said()
    assert worker.answer("run_double", x=X).value.tolist() == [3, 6]
    assert worker.said() == "doubling"
    assert worker.answer("run_input").value == ""


def test_uses_of_forbidden_names_come_with_the_answer_of_their_call(worker):
    assert worker.answer("run_forbidden", x=X).uses == (Use("torch.add", "served_adapters.py", 11),)
    assert worker.answer("run_double", x=X).uses == ()


def test_an_absent_adapter_is_told_and_the_worker_goes_on(worker):
    raised = worker.answer("run_absent").raised
    assert (raised.kind, raised.missing) == ("NameError", True)
    assert worker.answer("run_double", x=X).raised is None


def test_an_answer_that_is_too_large_is_replaced_by_words(worker):
    """Each part may cross, and all of them together may not."""
    assert worker.answer("run_much", n=10).value == "x" * 10
    words = Foreign("a value that is too large to be an answer")
    assert worker.answer("run_much", n=40 << 20).value == words
    forbidden = worker.answer("run_much_that_is_forbidden", n=10 << 20)
    assert (forbidden.value, [use.name for use in forbidden.uses]) == (words, ["torch.add"])


def test_a_worker_has_its_scratch_folder_and_no_other_descriptor(worker):
    """Its session is its own, so that no signal of a terminal reaches it."""
    home, temporary, is_first = worker.answer("run_places").value
    assert home == temporary
    assert home.endswith("/scratch")
    assert is_first is True
    descriptors = worker.answer("run_descriptors").value
    assert set(descriptors) >= {0, 1, 2}
    assert len(descriptors) <= 5


def test_nothing_is_compiled_or_forked(worker):
    assert worker.answer("run_compiled", x=X).value.tolist() == [2, 3]
    assert worker.answer("run_pool").value == [1]


def test_edits_are_tried_and_stay_only_if_asked(worker):
    start = PROGRAM.index("* 3")
    edits = [{"served_adapters.py": [TextChange(start, start + 3, "* 2")]}]
    trials = Trials([Call("run_double", {"x": X})], 1, edits, 30.0)
    for _ in range(2):
        outcomes = decode_outcomes(worker.asked(encode_trials(trials)), trials)
        assert outcomes.of(0, 0).tolist() == [2, 4]
    assert worker.answer("run_double", x=X).value.tolist() == [3, 6]
    stays = dataclasses.replace(trials, stays=True, to_change=0)
    outcomes = decode_outcomes(worker.asked(encode_trials(stays)), stays)
    assert (outcomes.tried, outcomes.given) == (1, {})
    assert worker.answer("run_double", x=X).value.tolist() == [2, 4]
    none = Trials([Call("run_double", {"x": X})], 0, [], 30.0)
    decode_outcomes(worker.asked(encode_trials(none)), none)
    assert worker.answer("run_double", x=X).value.tolist() == [3, 6]


def processor_time(pid: int) -> float:
    """Returns the seconds of processor time that a process took."""
    return time.clock_gettime((~pid << 3) | 2)


@pytest.mark.parametrize("number", [DUMP_AT_ONCE, DUMP_IN_PYTHON])
def test_a_late_worker_sends_its_traceback_and_ends(made, number):
    """Each of two signals has it do so."""
    worker = made()
    worker.answer("run_double", x=X)
    before = processor_time(worker.pid)
    worker.channel.sendall(worker.calls.frame(Call("run_hang", {})))
    until(lambda: processor_time(worker.pid) > 0.1 + before, "the call runs")
    os.kill(worker.pid, number)
    told = b""
    while more := worker.channel.recv(1 << 16):
        told += more
    assert b"in run_hang" in told
    assert b"served_adapters.py" in told
    assert worker.close() == (1 if number == DUMP_IN_PYTHON else -number)


def test_a_worker_ends_when_its_judge_hangs_up(made):
    assert made().close() == 7


def test_a_worker_obeys_ordinary_signals(made):
    """The process that forked it may have ignored them."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        worker = made()
        os.kill(worker.pid, signal.SIGTERM)
        assert worker.close() == -signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.unit
def test_exactly_the_wanted_bytes_are_received():
    """More may be waiting, and they may come in pieces."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"abcdef")
        assert serving._receive_exactly(ours, 4) == b"abcd"
        assert serving._receive_exactly(ours, 0) == b""
        theirs.close()
        with pytest.raises(EOFError):
            serving._receive_exactly(ours, 4)
