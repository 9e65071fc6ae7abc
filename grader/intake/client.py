"""The client of the intake process, and the survey of a class's packages."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from grader.core.folders import new_scratch
from grader.core.submission import Submission, Unreadable
from grader.intake.copying import CopyFailed
from grader.intake.entry import Entry
from grader.intake.limits import DEFAULT_BOUNDS, MIB, Bounds, size_in_words

_START_SECONDS = 60.0
_WAKE_EVERY = 1.0  # seconds
# A longer sleep means that the client was stopped, probably with its process: it does not count.
_STOPPED = 2 * _WAKE_EVERY
_ENGINE = Path(__file__).resolve().parents[2]
# The same UTF-8 mode on both ends: file names then are the same bytes.
_INTERPRETER = (sys.executable, "-I", "-X", f"utf8={sys.flags.utf8_mode}", "-c")
# The code of a process; its module's `main` serves.
BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from grader.intake.limits import Bounds; from {} import main; "
    "main(int(sys.argv[2]), int(sys.argv[3]), Bounds(*map(int, sys.argv[4:])))"
)
_WISH = "hand in the source code without data"
_NO_ANSWER = "the process that took it in sent an unreadable answer"

Result = TypeVar("Result")


class IntakeClient:
    """A context manager that has submissions taken in by an intake process.

    The intake process is a fresh interpreter, small and without torch, which serves one submission
    after another. A lost one is replaced. A process forked from the one that made the client may
    also use the client, while its parent waits. `boot` is the code that the interpreter runs,
    `longest_answer` the bytes that an answer may have.
    """

    boot: ClassVar[str] = BOOT.format("grader.intake.process")
    longest_answer: ClassVar[int] = MIB

    def __init__(self, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        self._bounds = bounds
        self._order_id = ""
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_own()

    @property
    def pid(self) -> int:
        """Returns the process id of the intake process."""
        return self._process.pid

    def take_in(self, entry: Entry, into: Path, adapters: str) -> Submission:
        """Returns the submission, copied into the empty folder `into`.

        Raises:
            Unreadable: if nothing in it can be graded, or taking it in cost too much.
            CopyFailed: if the copy could not be written, or no process could be started.
        """
        order = {"adapters": adapters, "survey": False}
        return self._asked(entry, into, order, "submission", Submission.from_json)

    def survey(self, entry: Entry, into: Path, adapters: str) -> frozenset[str]:
        """Copies a submission into the empty folder `into` and returns the packages it imports.

        Raises:
            Unreadable, CopyFailed: as `take_in`.
        """
        order = {"adapters": adapters, "survey": True}
        return self._asked(entry, into, order, "needs", lambda row: frozenset(map(str, row)))

    def _asked(
        self,
        entry: Entry,
        into: Path,
        order: dict[str, Any],
        kind: str,
        read: Callable[[Any], Result],
    ) -> Result:
        self._order({"entry": entry.without_people.as_json(), "into": os.fspath(into)} | order)
        answer = self._answer()
        if "failed" in answer:
            raise CopyFailed(str(answer["failed"]))
        if "unreadable" in answer:
            raise Unreadable(str(answer["unreadable"]))
        try:
            return read(answer[kind])
        except (LookupError, TypeError, ValueError, OverflowError) as error:
            raise self._lost(_NO_ANSWER) from error

    def close_own(self) -> None:
        """Ends the intake process, if the calling process started it."""
        if self._started_by == os.getpid():
            self.give_up()

    def give_up(self) -> None:
        """Ends the intake process, even a busy one; the next submission starts another."""
        self._channel.close()
        if self._process.returncode is not None:
            return
        # Its parent has not waited for it yet, so its id cannot belong to another process.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self._process.pid, signal.SIGKILL)
        if self._started_by == os.getpid():
            self._process.wait()

    def processor_seconds(self) -> float:
        """Returns the process's processor time; 0 after `give_up`, and where `/proc` is missing."""
        fields = self._status()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0

    def _order(self, order: dict[str, Any]) -> None:
        """Sends an order, and waits until a process begins it.

        Raises:
            CopyFailed: if no process begins it, which is not the submission's fault.
        """
        # Random, because forked judges would share a counter that a lost judge has moved on.
        self._order_id = secrets.token_hex(8)
        line = json.dumps({"id": self._order_id} | order).encode() + b"\n"
        for _ in range(2):
            if not self._is_free():
                self.give_up()
                try:
                    self._start()
                except OSError as error:
                    said = "the process that takes submissions in does not start"
                    raise CopyFailed(f"{said}: {error}") from error
            try:
                self._channel.sendall(line)
                begun = json.loads(self._line(time.monotonic() + _START_SECONDS))
            except (OSError, ValueError, RecursionError):
                begun = None
            if begun == {"begun": self._order_id}:
                return
            self.give_up()
        raise CopyFailed("the process that takes submissions in does not start")

    def _answer(self) -> Mapping[str, Any]:
        """Returns the process's answer to the order that it has begun.

        Raises:
            Unreadable: if there is no answer, or it cannot be read.
            CopyFailed: if this machine killed the process.
        """
        bounds = self._bounds
        try:
            answer = json.loads(self._line(time.monotonic() + bounds.seconds))
        except TimeoutError as error:
            raise self._lost(f"taking it in took longer than {bounds.seconds} seconds") from error
        except OSError as error:
            if self._ended_by(signal.SIGPROF):
                why = f"taking it in took more than {bounds.processor_seconds} seconds"
                raise self._lost(f"{why} of processor time: {_WISH}") from error
            if self._ended_by(signal.SIGKILL):  # which none of its own limits sends
                self.give_up()
                said = "the process that took it in was killed, as where memory is short"
                raise CopyFailed(said) from error
            raise self._lost(f"the process that took it in was lost: {_WISH}") from error
        except (ValueError, RecursionError) as error:
            raise self._lost(_NO_ANSWER) from error
        if not isinstance(answer, dict) or answer.get("id") != self._order_id:
            raise self._lost(_NO_ANSWER)
        if "too large" in answer:
            memory = size_in_words(bounds.memory)
            raise self._lost(f"taking it in took more than {memory} of memory: {_WISH}")
        return answer

    def _line(self, deadline: float) -> bytes:
        """Returns the next line that the process writes.

        Raises:
            TimeoutError: if no line has arrived by the deadline.
            OSError: if the process ended first, or its line is too long.
        """
        said = bytearray()
        awake = time.monotonic()
        while not said.endswith(b"\n"):
            now = time.monotonic()
            if (stopped := now - awake) > _STOPPED:
                deadline += stopped
            awake = now
            if now >= deadline:
                raise TimeoutError
            if not select.select([self._channel], [], [], min(deadline - now, _WAKE_EVERY))[0]:
                continue
            # Read only to the end of the line: another process may read the next one.
            piece = self._channel.recv(1 << 16, socket.MSG_PEEK)
            piece = self._channel.recv(piece.find(b"\n") + 1 or len(piece)) if piece else b""
            said += piece
            if not piece:
                raise ConnectionResetError("it ended")
            if len(said) > self.longest_answer:
                raise ConnectionAbortedError("its answer is too long")
        return bytes(said)

    def _ended_by(self, number: signal.Signals) -> bool:
        """Returns whether a signal ended the process (`stat` ends with the exit code)."""
        fields = self._status()
        return bool(fields) and int(fields[49]) & 0x7F == number

    def _status(self) -> list[str]:
        """Returns the fields of the process's `stat`, from its state on: proc(5)."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return []
        return stat.rpartition(")")[2].split()

    def _is_free(self) -> bool:
        """Returns whether the process waits for an order: it lives, and no answer is unread."""
        if self._channel.fileno() < 0:
            return False
        return not select.select([self._channel], [], [], 0)[0]

    def _lost(self, why: str) -> Unreadable:
        self.give_up()
        return Unreadable(why)

    def _start(self) -> None:
        self._started_by = os.getpid()
        self._channel, theirs = socket.socketpair()
        self._channel.settimeout(_START_SECONDS)
        with theirs:
            numbers = (theirs.fileno(), self._started_by, *astuple(self._bounds))
            self._process = subprocess.Popen(
                [*_INTERPRETER, self.boot, str(_ENGINE), *map(str, numbers)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )


def survey(entries: Sequence[Entry], adapters: str) -> dict[str, int]:
    """Returns for each package how many entries import it.

    Leaves out unreadable entries, and all others once the disk is full: grading says why.
    """
    found = Counter[str]()
    with contextlib.suppress(OSError), IntakeClient() as client:
        for entry in entries:
            with contextlib.suppress(Unreadable, CopyFailed), new_scratch() as copies:
                found.update(client.survey(entry, copies, adapters))
    return found
