"""The judge's end of one worker: a channel that believes nothing, with a deadline and a limit."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import tempfile
import time
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.sandbox.forkserver import ForkServer, ForkServerLost
from grader.sandbox.replies import Reply, Sealed
from grader.sandbox.usage import family, fits, is_alive, private_memory
from grader.settings import CPU
from grader.submission import Submission
from grader.verdict import Status
from grader.wire.calls import (
    Call,
    Raised,
    Use,
    cell_errors_from_json,
    decode_answer,
    encode_call,
    raised_from_json,
    uses_from_json,
)
from grader.wire.frames import BadFrame, Received, decode, encode, receive
from grader.wire.importing import imports_from_json

_WATCH_SECONDS = 0.05
_CONFINING_SECONDS = 30.0
_PRINTED = 4096


class WorkerLost(Exception):
    """A worker gave no answer: it took too long, used too much, died, or spoke nonsense."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one worker may use: bytes of memory, bytes and files on disk, processor seconds.

    Beside the CPU, the `device`, as torch names it.
    """

    memory: int
    disk: int = 256 << 20
    files: int = 10_000
    threads: int = 256
    file_size: int = 64 << 20
    cpu_seconds: int = 600
    device: str = CPU


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a worker said of the submission's import; `seconds` by imported module."""

    adapters: frozenset[str]
    problem: Raised | None
    uses: tuple[Use, ...]
    cell_errors: tuple[Raised, ...]
    seconds: Mapping[str, float]


class Worker:
    """One running worker. Once it is lost, it can only be ended.

    `isolation` is what each layer of its confinement came to, and `printed` the end of what it
    wrote to stdout and stderr since it was last asked for something.
    """

    def __init__(self, server: ForkServer, scratch: Path, allowance: Allowance) -> None:
        self._server = server
        self._allowance = allowance
        self._scratch = scratch
        spawned = server.spawn()
        self._pid, self._number = spawned.pid, spawned.number
        self._channel, self._output = spawned.channel, spawned.printed
        self._baseline = private_memory([self._pid])
        self._channel.setblocking(False)
        os.set_blocking(self._output, False)
        self._poll = select.poll()
        # Asked for in this order: what was printed before an answer is there when the answer is.
        self._poll.register(self._channel, select.POLLIN)
        self._poll.register(self._output, select.POLLIN)
        self.isolation: Mapping[str, str] = {}
        self.printed = b""
        self._looked = time.monotonic()

    @classmethod
    def in_new_folder(cls, server: ForkServer, folder: Path, allowance: Allowance) -> Worker:
        """A worker with an empty folder of its own, below `folder`, to write to."""
        user = server.wait_until_ready()
        scratch = Path(tempfile.mkdtemp(dir=folder))
        if user is not None:
            os.chown(scratch, user, user)
        return cls(server, scratch, allowance)

    def load(self, submission: Submission, seconds: float, forbidden: Iterable[str] = ()) -> Loaded:
        """Has the worker confine itself, then import the submission.

        `forbidden` are the names whose use the worker tells, now and in its answers.

        Raises:
            WorkerLost: if it did not say how that went.
            ForkServerLost: if it did not confine itself: no line of the submission ran.
        """
        allowance = self._allowance
        order = encode(
            {
                "root": str(submission.root),
                "module": submission.module,
                "import_paths": list(submission.import_paths),
                "distribution": submission.distribution,
                "scratch": str(self._scratch),
                "forbidden": list(forbidden),
                "preloaded": list(self._server.preload),
                "device": allowance.device,
                "bounds": {
                    "memory": allowance.memory,
                    "disk": allowance.disk,
                    "files": allowance.files,
                    "file_size": allowance.file_size,
                    "threads": allowance.threads,
                    "cpu_seconds": allowance.cpu_seconds,
                },
            },
            {},
        )
        try:
            header = self._told(order, _CONFINING_SECONDS, "confining the worker")
            self.isolation = dict(header["isolation"])
        except (WorkerLost, KeyError, TypeError, ValueError) as error:
            raise ForkServerLost(f"a worker could not be confined: {error}") from error
        started = time.monotonic()
        header = self._told(b"", seconds, "importing the submission")
        elapsed = time.monotonic() - started
        names = header.get("adapters")
        if not isinstance(names, list):
            raise WorkerLost(Status.CRASHED, "the worker did not say what it imported")
        try:
            problem = raised_from_json(header.get("problem"))
            uses = uses_from_json(header.get("uses"))
            cell_errors = cell_errors_from_json(header.get("cell_errors"))
            imports = imports_from_json(header.get("imports"), elapsed)
        except BadFrame as error:
            raise WorkerLost(Status.CRASHED, str(error)) from error
        return Loaded(frozenset(map(str, names)), problem, uses, cell_errors, imports)

    def ask(self, call: Call, seconds: float, familiar: Container[bytes] = ()) -> Reply:
        """The worker's answer to a call; it stays sealed if its digest is a `familiar` one.

        Raises:
            WorkerLost: if none came that can be believed to be one.
        """
        frame = self._exchange(encode_call(call), seconds, f"{call.adapter}(...)")
        if (digest := frame.digest()) in familiar:
            return Sealed(frame, digest)
        try:
            return decode_answer(frame)
        except BadFrame as error:
            raise WorkerLost(
                Status.CRASHED, f"the worker's answer is no answer: {error}"
            ) from error

    @property
    def printed_text(self) -> str:
        """What the worker printed since it was last asked for something, or the end of it."""
        return self.printed.decode("utf-8", "replace")

    def end(self) -> None:
        """Kills the worker and everything that it started."""
        self._channel.close()
        self._close_output()
        self._server.end_workers()

    def _told(self, frame: bytes, seconds: float, doing: str) -> dict[str, Any]:
        received = self._exchange(frame, seconds, doing)
        try:
            return decode(received)[0]
        except BadFrame as error:
            raise WorkerLost(Status.CRASHED, f"{doing}: {error}") from None

    def _exchange(self, frame: bytes, seconds: float, doing: str) -> Received:
        deadline = time.monotonic() + seconds
        self.printed = b""
        try:
            self._look_at_limits()
            self._send(memoryview(frame), deadline)
            self._wait(deadline)
            return receive(lambda size: self._receive(size, deadline))
        except BaseException as problem:
            self._drain()
            raise self._lost(problem, seconds, doing) from None

    def _lost(self, problem: BaseException, seconds: float, doing: str) -> BaseException:
        """What became of the worker, by what kept its answer from coming."""
        match problem:
            case TimeoutError():
                message = f"{doing} took longer than {seconds:.3g} seconds and was stopped"
                return WorkerLost(Status.TIMEOUT, message)
            case EOFError() | ConnectionError():
                return WorkerLost(Status.CRASHED, f"{doing} ended its process{self._end()}")
            case BadFrame():
                return WorkerLost(Status.CRASHED, f"{doing}: {problem}")
            case _:
                return problem

    def _send(self, data: memoryview, deadline: float) -> None:
        while data:
            try:
                data = data[self._channel.send(data) :]
            except BlockingIOError:
                self._wait(deadline, writing=True)

    def _receive(self, size: int, deadline: float) -> bytearray:
        data = bytearray(size)
        view = memoryview(data)
        while view:
            try:
                count = self._channel.recv_into(view)
            except BlockingIOError:
                self._wait(deadline)
                continue
            if count == 0:
                raise EOFError
            view = view[count:]
        return data

    def _wait(self, deadline: float, writing: bool = False) -> None:
        """Until the channel is ready, watching the clock, the limits and the worker's life.

        What was printed before the worker answered is read by then.
        """
        if writing:
            self._poll.modify(self._channel, select.POLLOUT)
        try:
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                ready = dict(self._poll.poll(1000 * min(left, _WATCH_SECONDS)))
                if self._output in ready:
                    self._drain()
                if self._channel.fileno() in ready:
                    return
                self._look_at_limits()
        finally:
            if writing:
                self._poll.modify(self._channel, select.POLLIN)

    def _drain(self) -> None:
        """Keeps the end of what the worker prints, so that it need never wait to print."""
        if self._output < 0:
            return
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._output, 1 << 16)
            self.printed = (self.printed + data)[-_PRINTED:]
            if not data:  # the worker closed its end: it will never be readable again
                self._close_output()

    def _close_output(self) -> None:
        if self._output >= 0:
            self._poll.unregister(self._output)
            os.close(self._output)
            self._output = -1

    def _look_at_limits(self) -> None:
        """Looks every so often, however busy the worker keeps its channel and its output."""
        if time.monotonic() - self._looked < _WATCH_SECONDS:
            return
        self._looked = time.monotonic()
        allowance = self._allowance
        if private_memory(family(self._pid)) - self._baseline > allowance.memory:
            raise WorkerLost(
                Status.CRASHED,
                f"it used more than the {allowance.memory >> 20} MB of memory that it may",
            )
        if not fits(self._scratch, allowance.disk, allowance.files):
            raise WorkerLost(
                Status.CRASHED,
                f"it wrote more than the {allowance.disk >> 20} MB or {allowance.files} files "
                "that it may, or where they cannot be counted",
            )
        if not is_alive(self._pid):
            raise EOFError

    def _end(self) -> str:
        """How the worker ended, in words."""
        with contextlib.suppress(Exception):
            code = self._server.end_workers().get(self._number)
            if code is not None and code < 0:
                return f" ({signal.Signals(-code).name})"
            if code is not None:
                return f" (exit code {code})"
        return ""
