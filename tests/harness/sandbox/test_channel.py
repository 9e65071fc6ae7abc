"""The judge's end of a channel: frames, output, hang-ups; and what a pipe or a zygote says."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.core.processes import Allowance
from grader.core.verdict import Status
from grader.core.wire.frames import FrameBounds, decode, encode, receive
from grader.core.wire.records import BadFrame
from grader.sandbox.fork_server import _ask_for_senders, _received
from grader.sandbox.worker import Exchange, WorkerLost, _bounds
from grader.sandbox.zygote import _environment, end_of_output, hung_up

pytestmark = pytest.mark.unit


class Ends:
    """Both ends of an exchange: the judge's `exchange`, the worker's `channel` and `output`."""

    def __init__(self) -> None:
        ours, self.channel = socket.socketpair()
        reading, self.output = os.pipe()
        self.exchange = Exchange(ours, reading)
        self.looks = 0

    def look(self) -> None:
        """Counts the looks of the judge."""
        self.looks += 1

    def answer(self, frame: bytes, printed: bytes = b"") -> bytes:
        """Asks while a thread receives the question, prints and answers; returns the question."""
        asked: list[bytes] = []

        def serve() -> None:
            got = receive(self._exactly)
            asked.append(got.prefix + bytes(got.body))
            os.write(self.output, printed)
            self.channel.sendall(frame)

        worker = threading.Thread(target=serve)
        worker.start()
        self.received = self.exchange.ask(encode({"do": "it" * 300_000}, {}), self.look)
        worker.join()
        return asked[0]

    def _exactly(self, size: int) -> bytearray:
        data = bytearray()
        while len(data) < size:
            data += self.channel.recv(size - len(data))
        return data


@pytest.fixture
def ends() -> Iterator[Ends]:
    """An exchange with a worker that this process plays."""
    own = Ends()
    yield own
    own.exchange.close()
    own.channel.close()


def test_a_large_frame_crosses_in_both_directions(ends):
    """No end can take it at once; the judge looks at the worker meanwhile."""
    asked = ends.answer(encode({"came": "back" * 300_000}, {}))
    assert asked == encode({"do": "it" * 300_000}, {})
    assert decode(ends.received)[0] == {"came": "back" * 300_000}
    assert ends.looks > 3


def test_the_end_of_the_output_before_an_answer_is_kept(ends):
    """The output before a later request is dropped then."""
    ends.answer(encode({}, {}), printed=b"a" * 5000 + b"end")
    assert ends.exchange.printed == b"a" * 4093 + b"end"
    ends.answer(encode({}, {}), printed=b"later")
    assert ends.exchange.printed == b"later"


def test_the_output_between_two_answers_to_one_request_is_kept(ends):
    """A worker tells that it is confined, then imports and prints before the judge is scheduled."""
    ends.channel.sendall(encode({"told": "confined"}, {}))
    os.write(ends.output, b"imported")
    ends.exchange.ask(b"", ends.look)
    ends.channel.sendall(encode({"told": "loaded"}, {}))
    ends.exchange.ask(b"", ends.look)
    assert ends.exchange.printed == b"imported"


def test_a_look_ends_the_wait_and_the_output_is_kept(ends):
    """The exception comes from the look: the worker takes too long, or too much."""
    os.write(ends.output, b"last words")

    def stop() -> None:
        ends.look()
        if ends.looks > 2:
            raise WorkerLost(Status.TIMEOUT, "late")

    with pytest.raises(WorkerLost):
        ends.exchange.ask(b"", stop)
    assert ends.exchange.printed == b"last words"


def test_output_alone_does_not_wake_the_judge(ends):
    """Else a worker that prints byte by byte costs the judge a look for each."""

    def trickle() -> None:
        for _ in range(50_000):
            os.write(ends.output, b".")
        ends.channel.sendall(encode({}, {}))

    worker = threading.Thread(target=trickle)
    worker.start()
    ends.exchange.ask(b"", ends.look)
    worker.join()
    assert ends.looks < 1000
    assert ends.exchange.printed.endswith(b".")


def test_a_worker_that_hangs_up_gives_no_answer(ends):
    ends.channel.sendall(encode({}, {})[:5])
    ends.channel.close()
    with pytest.raises(EOFError):
        ends.exchange.ask(b"", ends.look)


def test_bytes_that_are_no_frame_or_too_large_are_refused(ends):
    ends.channel.sendall(b"x" * 100)
    with pytest.raises(BadFrame, match="not a frame"):
        ends.exchange.ask(b"", ends.look)
    ends.exchange.rest(100, 0.01)
    ends.channel.sendall(encode({"a": "b" * 100}, {}))
    with pytest.raises(BadFrame, match="larger"):
        ends.exchange.ask(b"", ends.look, FrameBounds(50, 50, 50))


def test_an_output_that_was_closed_is_not_read_again(ends):
    """The worker may close its descriptors and still answer."""
    os.write(ends.output, b"bye")
    os.close(ends.output)
    for _ in range(2):
        ends.channel.sendall(encode({}, {}))
        ends.exchange.ask(b"", ends.look)
    assert ends.exchange._output == -1


@pytest.mark.parametrize(("sent", "at_most", "got"), [(b"abc", 10, b"abc"), (b"abc", 2, b"ab")])
def test_the_rest_that_a_worker_sends_is_bounded(ends, sent, at_most, got):
    ends.channel.sendall(sent)
    assert ends.exchange.rest(at_most, 0.05) == got
    ends.channel.close()
    assert ends.exchange.rest(0, 60.0) == b""
    assert ends.exchange.rest(10, 60.0) == sent[at_most:]


def test_a_closed_exchange_holds_no_descriptor():
    ends = Ends()
    output = ends.exchange._output
    ends.exchange.close()
    assert ends.channel.recv(1) == b""
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(output)
    with pytest.raises(BrokenPipeError):
        os.write(ends.output, b"x")


def test_a_small_worker_has_slack_for_changed_pages():
    mb = 1 << 20
    assert _bounds(Allowance(64 * mb, threads=7)).memory == 112 * mb
    assert _bounds(Allowance(1600 * mb)).memory == 1700 * mb
    assert _bounds(Allowance(64 * mb, threads=7)).tasks == 7


# --- Pipes and channels --------------------------------------------------------------------------


def test_the_end_of_the_output_of_a_pipe_is_read():
    """The second result says whether the pipe was closed."""
    reading, writing = os.pipe()
    assert end_of_output(reading, 0) == ("", False)
    os.write(writing, b"a" * 5000 + b"\xffend")
    said, is_closed = end_of_output(reading, 0.01)
    assert (said, is_closed) == ("a" * (4096 - 4) + "\ufffdend", False)
    os.write(writing, b"more")
    os.close(writing)
    assert end_of_output(reading, 60.0) == ("more", True)
    os.close(reading)


def test_a_channel_whose_other_end_is_closed_hung_up():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        assert not hung_up(ours)
        theirs.send(b"x")
        assert not hung_up(ours)
        theirs.close()
        assert hung_up(ours)


def test_a_message_tells_its_sender():
    """The kernel attaches the process id."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        theirs.send(b"untold")
        assert _received(ours, 100) == (b"untold", 0)
        _ask_for_senders(ours)
        theirs.send(b"hello")
        assert _received(ours, 100) == (b"hello", os.getpid())


def test_a_worker_inherits_nothing_of_the_environment_but_limits_of_instructions(monkeypatch):
    """Otherwise it would add up in another order than its judge."""
    monkeypatch.setenv("SECRET", "x")
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    monkeypatch.delenv("ATEN_CPU_CAPABILITY", raising=False)
    found = _environment(Path("/home/it"))
    assert (found["HOME"], found["TMPDIR"], found["MKL_CBWR"]) == (
        "/home/it",
        "/home/it",
        "COMPATIBLE",
    )
    assert found["USER"] == "student"
    assert not {"SECRET", "ATEN_CPU_CAPABILITY", "PYTHONPATH"} & set(found)
    assert {found[f"{name}_NUM_THREADS"] for name in ("OMP", "MKL", "OPENBLAS")} == {"1"}
