"""The judge's end of one worker: a channel with a deadline and limits, which believes nothing.

While the judge waits for the worker, it watches the worker's usage.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from grader.core.folders import remove
from grader.core.processes import DUMP_AT_ONCE, DUMP_IN_PYTHON, Allowance, is_alive
from grader.core.submission import Submission
from grader.core.verdict import Status
from grader.core.wire.calls import (
    Call,
    CallEncoder,
    ImportReport,
    Reply,
    SealedAnswer,
    decode_answer,
)
from grader.core.wire.frames import (
    ANSWER,
    ANY_FRAME,
    RECORDED,
    REPORT,
    FrameBounds,
    Received,
    decode,
    encode,
    receive,
)
from grader.core.wire.records import BadFrame, read
from grader.core.wire.trials import Outcomes, Trials, decode_outcomes, encode_trials
from grader.sandbox.cgroups import GroupBounds
from grader.sandbox.fork_server import ForkServer, ForkServerLost
from grader.sandbox.limits import Clock, Exceeded, Late, Patience, Taken
from grader.sandbox.usage_watch import UsageWatch, out_of_memory

_DRAIN_MILLISECONDS = 5
_PRINTED = 4096
_PIPE = 1 << 20


class Exchange:
    """The judge's ends of a worker's channel and of the pipe that it prints to.

    `printed` is the end of the output since the last request. Earlier output is discarded: the pipe
    is emptied every 5 ms, however often a worker prints, because each look costs the judge time.
    """

    def __init__(self, channel: socket.socket, output: int) -> None:
        self._channel = channel
        self._output = output
        channel.setblocking(False)
        os.set_blocking(output, False)
        if sys.platform == "linux":
            with contextlib.suppress(OSError):  # the user's limit of pages in pipes may be reached
                fcntl.fcntl(output, fcntl.F_SETPIPE_SZ, _PIPE)
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)
        self._output_poll = select.poll()
        self._output_poll.register(output, select.POLLIN)
        self.printed = b""

    def ask(
        self, frame: bytes, look: Callable[[], None], bounds: FrameBounds = ANY_FRAME
    ) -> Received:
        """Sends a frame and receives one; `look` is called often, and may raise to end it.

        Without a frame to send, it waits for one more answer to the last request.

        Raises:
            EOFError, ConnectionError: if the worker hung up.
            BadFrame: if the bytes received are not a frame.
        """
        if frame:
            self.printed = b""
        try:
            self._send(memoryview(frame), look)
            # Output from before an answer has arrived by the time the answer does.
            self._wait(select.POLLIN, look)
            return receive(lambda size: self._receive(size, look), bounds)
        except BaseException:
            self._drain()
            raise

    def rest(self, at_most: int, seconds: float) -> bytes:
        """Returns at most `at_most` bytes that the worker sends within `seconds`."""
        data, end = b"", time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        with contextlib.suppress(OSError):
            while len(data) < at_most and (left := end - time.monotonic()) > 0:
                if poll.poll(1000 * left):
                    more = self._channel.recv(at_most - len(data))
                    if not more:
                        break
                    data += more
        return data

    def close(self) -> None:
        """Closes the channel and the pipe."""
        self._channel.close()
        self._close_output()

    def _send(self, data: memoryview, look: Callable[[], None]) -> None:
        while data:
            look()
            try:
                data = data[self._channel.send(data) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, look)

    def _receive(self, size: int, look: Callable[[], None]) -> bytearray:
        data = bytearray(size)
        view = memoryview(data)
        while view:
            look()
            try:
                count = self._channel.recv_into(view)
            except BlockingIOError:
                self._wait(select.POLLIN, look)
                continue
            if count == 0:
                raise EOFError
            view = view[count:]
        return data

    def _wait(self, event: int, look: Callable[[], None]) -> None:
        """Waits until the channel is ready, and reads the output meanwhile."""
        self._poll.modify(self._channel, event)
        is_ready = False
        while not is_ready:
            is_ready = bool(self._poll.poll(_DRAIN_MILLISECONDS))
            self._drain()
            look()

    def _drain(self) -> None:
        """Reads the worker's output, and keeps its end."""
        if self._output >= 0 and self._output_poll.poll(0):
            data = os.read(self._output, _PIPE)
            self.printed = (self.printed + data[-_PRINTED:])[-_PRINTED:]
            if not data:  # the worker closed its end: it will never be readable again
                self._close_output()

    def _close_output(self) -> None:
        if self._output >= 0:
            os.close(self._output)
            self._output = -1


_WATCH_SECONDS = 0.02
_STOPPED_SECONDS = 1.0
_CHANGED_PAGES = 48 << 20
# A hundred frames, with long names.
_TRACEBACK = 1 << 16
_DUMP_SECONDS = {DUMP_IN_PYTHON: 0.3, DUMP_AT_ONCE: 1.0}
# The share of an import's time that the cells of notebooks may take, so that some is left.
_CELLS = 0.5
_CONFINING = Patience(30.0, 60.0)


class WorkerLost(Exception):
    """A worker gave no answer: it took too long, used too much, died, or sent an invalid frame.

    `is_killed` is whether this machine may have ended it, as Linux does when memory is short.
    """

    def __init__(self, status: Status, message: str, is_killed: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.is_killed = is_killed


@contextlib.contextmanager
def _undamaged(what: str) -> Iterator[None]:
    """Counts a worker as lost if its frame cannot be read; the text begins with `what`."""
    try:
        yield
    except BadFrame as error:
        raise WorkerLost(Status.CRASHED, f"{what}: {error}") from error


class Worker:
    """One running worker. Once it is lost, it can only be ended.

    `isolation` says how each layer of its confinement is kept; `taken` is the time of the last
    answer.
    """

    def __init__(self, server: ForkServer, scratch: Path, allowance: Allowance) -> None:
        self._server = server
        self._allowance = allowance
        self._scratch = scratch
        self._group = server.group(_bounds(allowance))
        self._pid, self._number, channel, printed = server.spawn()
        self._exchange = Exchange(channel, printed)
        self._calls = CallEncoder()
        self._watch = UsageWatch(self._pid, server.user, scratch, allowance)
        self._killed_before = self._group.killed_for_memory() if self._group else 0
        if self._group is not None:
            # When the control group is full, the kernel kills the worker before its fork server.
            with contextlib.suppress(OSError):
                Path(f"/proc/{self._pid}/oom_score_adj").write_text("1000")
        self._clock = Clock(self._pid)
        self._looked = self._awake = 0.0
        self._held_at_first = 0
        self.isolation: Mapping[str, str] = {}
        self.taken = Taken()

    @classmethod
    def in_new_folder(cls, server: ForkServer, folder: Path, allowance: Allowance) -> Worker:
        """Returns a worker with an empty folder of its own, below `folder`, to write to."""
        server.wait_until_ready()
        scratch = Path(tempfile.mkdtemp(dir=folder))
        if server.user is not None:
            os.chown(scratch, server.user, server.user)
        return cls(server, scratch, allowance)

    def load(
        self, submission: Submission, patience: Patience, forbidden: Iterable[str] = ()
    ) -> ImportReport:
        """Has the worker confine itself, then import the submission.

        `forbidden` are the names whose use the worker reports, now and in its answers.

        Raises:
            WorkerLost: if the worker does not report on the import.
            ForkServerLost: if it did not confine itself: no line of the submission ran.
        """
        order = {
            "root": str(submission.root),
            "scratch": str(self._scratch),
            "forbidden": list(forbidden),
            "bounds": asdict(self._allowance),
            "load": {
                "module": submission.module,
                "import_paths": list(submission.import_paths),
                "preloaded": list(self._server.preload),
                "cell_seconds": _CELLS * patience.own if submission.has_shell else None,
            },
        }
        try:
            header = self._told(encode(order, {}), _CONFINING, "confining the worker")
            self._begin_to_watch(header["isolation"], header["kept"])
        except (WorkerLost, KeyError, TypeError, ValueError) as error:
            raise ForkServerLost(f"a worker could not be confined: {error}") from error
        header = self._told(b"", patience, "importing the submission")
        self._held_at_first = self._watch.held
        with _undamaged("importing the submission"):
            return read(ImportReport, header.get("imported"))

    def ask(
        self, call: Call, patience: Patience, familiar: Container[bytes] = frozenset()
    ) -> Reply:
        """Returns the worker's answer to a call, sealed if its digest is a `familiar` one.

        Raises:
            WorkerLost: if no valid answer comes.
        """
        bounds = RECORDED if call.record else ANSWER
        try:
            sent = self._calls.frame(call)
        except BadFrame as error:  # the author's own values are small: earlier answers are in it
            self.taken, self._exchange.printed = Taken(), b""
            said = f"{call.adapter}(...) cannot be called with your earlier results: {error}"
            raise WorkerLost(Status.CRASHED, said) from error
        frame = self._answer(sent, patience, f"{call.adapter}(...)", bounds)
        if (digest := frame.digest) is not None and digest in familiar:
            return SealedAnswer(frame, digest)
        before = time.thread_time()
        try:
            with _undamaged("the worker's answer cannot be read"):
                return decode_answer(frame)
        finally:
            self.taken = self.taken.with_reading(time.thread_time() - before)

    def try_edits(self, trials: Trials, patience: Patience) -> Outcomes:
        """Returns the outcomes of trials as the worker reports them.

        Raises:
            WorkerLost: if no valid outcomes come.
        """
        with _undamaged("trying edits"):
            frame = self._answer(encode_trials(trials), patience, "trying edits")
            return decode_outcomes(frame, trials)

    @property
    def printed(self) -> str:
        """Returns the end of its output to stdout and stderr since the last request."""
        return self._exchange.printed.decode("utf-8", "replace")

    @property
    def hoards(self) -> bool:
        """Returns whether calls hold more than half of the memory that the import left free."""
        at_first = self._held_at_first
        return 2 * (self._watch.held - at_first) > self._allowance.memory - at_first

    def stack_dump(self) -> str:
        """Returns the traceback that a late worker sends.

        The worker then ends, or must be ended. The text may be anything, or empty.
        """
        told = b""
        for number, seconds in _DUMP_SECONDS.items():
            with contextlib.suppress(OSError):
                if not told and is_alive(self._pid):
                    os.kill(self._pid, number)
                    told = self._exchange.rest(_TRACEBACK, seconds)
        return told.decode("utf-8", "replace")

    def end(self) -> None:
        """Kills the worker and everything that it started, and removes the files that it wrote."""
        self._exchange.close()
        self._clock.close()
        try:
            self._server.end_workers()
        finally:
            remove(self._scratch)

    def _begin_to_watch(self, isolation: Mapping[str, str], kept: Iterable[str]) -> None:
        """Notes how each layer of confinement is kept, and which limits the kernel keeps."""
        # Only Linux reports how much memory and how many threads a process has.
        looked_at = "watched" if sys.platform == "linux" else "none"
        how = {"memory": looked_at, "threads": looked_at, "disk": "watched"}
        how |= dict.fromkeys(kept, "kept by the kernel")
        if self._group is not None:
            how["memory"] = how["threads"] = f"control group {self._server.groups}"
        limits = {
            "memory": f"{self._allowance.memory >> 20} MB",
            "threads": f"{self._allowance.threads}",
            "disk": f"{self._allowance.disk >> 20} MB",
        }
        told = {
            name: "none" if how[name] == "none" else f"{limit}, {how[name]}"
            for name, limit in limits.items()
        }
        self.isolation = dict(isolation) | told
        self._watch.kept = {name for name in how if how[name] not in ("watched", "none")}
        self._watch.is_alone = isolation["processes"] != "none"

    def _told(self, frame: bytes, patience: Patience, doing: str) -> dict[str, Any]:
        received = self._answer(frame, patience, doing, REPORT)
        with _undamaged(doing):
            return decode(received)[0]

    def _answer(
        self, frame: bytes, patience: Patience, doing: str, bounds: FrameBounds = ANY_FRAME
    ) -> Received:
        self._clock.start()
        self._awake = time.monotonic()
        try:
            with _undamaged(doing):
                return self._exchange.ask(frame, lambda: self._look(patience), bounds)
        except Late as late:
            message = f"{doing} took longer than {late} and was stopped"
            raise WorkerLost(Status.TIMEOUT, message) from None
        except Exceeded as problem:
            raise WorkerLost(Status.CRASHED, str(problem)) from None
        except (EOFError, ConnectionError):
            raise self._ended(doing) from None
        finally:
            self.taken = self._clock.stop()

    def _look(self, patience: Patience) -> None:
        """Checks time and usage every 20 ms, however busy the channel and the output are.

        A judge that stood still for a second was stopped, and probably its worker too: somebody
        paused the container.
        """
        now = time.monotonic()
        if (stopped := now - self._awake) > _STOPPED_SECONDS:
            self._clock.leave_out(stopped)
        self._awake = now
        if now - self._looked < _WATCH_SECONDS:
            return
        self._looked = now
        patience.check(self._clock.taken())
        if self.isolation:  # an unconfined worker runs no submission yet
            self._watch.look()
        if not is_alive(self._pid):
            raise EOFError
        self._awake = time.monotonic()

    def _ended(self, doing: str) -> WorkerLost:
        """Returns the loss of a worker that ended, possibly with its fork server."""
        if self._group and self._group.killed_for_memory() > self._killed_before:
            return WorkerLost(Status.CRASHED, str(out_of_memory(self._allowance)))
        said, code = f"{doing} ended its process", None
        with contextlib.suppress(Exception):
            code = self._server.end_workers().get(self._number)
            if code is not None:
                how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
                said += f" ({how})"
        is_killed = self._server.is_lost or code == -signal.SIGKILL
        return WorkerLost(Status.CRASHED, said, is_killed)


def _bounds(allowance: Allowance) -> GroupBounds:
    """Returns the bounds of the control group of a worker and its fork server.

    Copy-on-write pages count against the group, hence some slack.
    """
    spare = max(_CHANGED_PAGES, allowance.memory // 16)
    return GroupBounds(allowance.memory + spare, allowance.threads)
