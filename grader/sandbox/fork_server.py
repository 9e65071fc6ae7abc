"""The judge's end of fork servers: starts them, asks them for workers, replaces lost ones."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from grader.core.names import CPU
from grader.core.text import Refusal
from grader.sandbox.cgroup_grounds import find_ground
from grader.sandbox.cgroups import Ground, Group, GroupBounds, NoGround
from grader.sandbox.usage_watch import Usage
from grader.sandbox.zygote import Zygote, end_of_output, hung_up

START_SECONDS = 120.0
_ORDER_SECONDS = 20.0
_SECONDS_TO_END = 10.0
_GREETING = 1 << 16
_FAREWELL = b"."
_CREDENTIALS = struct.Struct("iII")  # `struct ucred` (unix(7))


class ForkServerLost(Refusal):
    """The fork server did not start, or does not obey; the text says which."""


class Spawned(NamedTuple):
    """A worker that was forked: its process id, the channel to it, and the pipe it prints to.

    `number` is the worker's process id as the fork server sees it.
    """

    pid: int
    number: int
    channel: socket.socket
    printed: int


class ForkServer:
    """A warm process without secrets that forks workers.

    A zygote forks it, with three descriptors of the process that asks for it. A fork server that
    stops obeying is killed with all its workers. If the process that asked is killed, the fork
    server ends and `scratch` is removed.
    """

    def __init__(
        self, zygote: Zygote, scratch: Path, device: str = CPU, ground: Ground | None = None
    ) -> None:
        self.preload = zygote.preload
        self._zygote = zygote
        self._ground = ground
        self._reaper = self._pid = 0
        self._bounds: GroupBounds | None = None
        self._group: Group | None = None
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        _ask_for_senders(self._control)
        life, self._life = os.pipe()
        self._complaints, complaints = os.pipe()
        order = {
            "scratch": os.fspath(scratch),
            "groups": [os.fspath(folder) for folder in ground.folders] if ground else [],
            "prefix": ground.prefix if ground else "",
            "granted": zygote.granted,
            "leaves_no_marks": zygote.leaves_no_marks,
            # A GPU's driver needs files that cannot be listed completely.
            "namespaces": device == CPU,
        }
        with theirs:
            zygote.fork(order, [theirs.fileno(), life, complaints])
        os.close(life)
        os.close(complaints)
        self._ready = False
        self.user: int | None = None
        self.is_lost = False
        self.not_preloaded: Mapping[str, str] = {}

    @property
    def groups(self) -> str:
        """Returns the version of its workers' control groups; an empty text if they are in none."""
        return self._ground.version if self._ground is not None else ""

    def group(self, bounds: GroupBounds) -> Group | None:
        """Returns the control group of the fork server and its worker, or None if none is granted.

        The group is charged for the worker's memory, but not for the fork server's memory on entry.
        Moving each worker instead costs a tenth of a submission's time: the kernel waits until no
        processor is forking.
        """
        self.wait_until_ready()
        if self._ground is None or bounds == self._bounds:
            return self._group
        name = f"{self._pid}-{bounds.memory}"
        tasks = bounds.tasks + Usage.of([self._pid]).threads
        try:
            # An ended judge, forked from the same parent, may have made this group.
            group = self._ground.get(name) or self._ground.new(name, replace(bounds, tasks=tasks))
            group.add(self._pid)
        except OSError:
            return None
        self._group, self._bounds = group, bounds
        return group

    @property
    def has_ended(self) -> bool:
        """Returns whether the fork server has ended or is lost."""
        if self.is_lost:
            return True
        return hung_up(self._control)

    def spawn(self) -> Spawned:
        """Forks a worker.

        Raises:
            ForkServerLost: if no worker starts.
        """
        self.wait_until_ready()
        ours, theirs = socket.socketpair()
        _ask_for_senders(ours)
        printed, output = os.pipe()
        try:
            order = json.dumps({"do": "spawn"}).encode()
            socket.send_fds(self._control, [order], [theirs.fileno(), output])
            number = int(self._reply()["pid"])
            ours.settimeout(_ORDER_SECONDS)
            hello, pid = _received(ours, 1)
            if not hello:
                raise OSError("it ended at once")
            if sys.platform != "linux":
                pid = number
            elif pid == 0:  # its own number may be the id of another process here
                raise OSError("its process cannot be seen from here")
            return Spawned(pid, number, ours, printed)
        except (OSError, KeyError) as error:
            ours.close()
            os.close(printed)
            raise self._lost(f"it forked no worker ({error})") from error
        finally:
            theirs.close()
            os.close(output)

    def end_workers(self) -> dict[int, int]:
        """Kills every process that a worker left; returns their exit codes by process id.

        Raises:
            ForkServerLost: if the fork server does not confirm that they are gone.
        """
        try:
            self._control.send(json.dumps({"do": "end"}).encode())
            codes = self._reply()["codes"]
        except (OSError, KeyError) as error:
            raise self._lost(f"it ended no worker ({error})") from error
        return {int(pid): int(code) for pid, code in codes.items()}

    def close(self) -> None:
        """Ends the fork server and all its workers."""
        with contextlib.suppress(ForkServerLost, OSError):
            if self._ready and not self.is_lost:
                self.end_workers()
        self._end()

    def wait_until_ready(self) -> None:
        """Waits until it can fork workers, and notes their `user`, if they have one of their own.

        Raises:
            ForkServerLost: if the fork server does not start.
        """
        if not self._ready:
            told = json.loads(self._greeting()[0])
            self._reaper = int(told["reaper"])
            said, self._pid = self._greeting()
            greeting = json.loads(said)
            self.user, self.not_preloaded = greeting["user"], greeting["not_preloaded"]
            self._ready = True

    def _greeting(self) -> tuple[bytes, int]:
        readable, _, _ = select.select([self._control], [], [], START_SECONDS)
        said, pid = _received(self._control, _GREETING) if readable else (b"", 0)
        if not said:
            raise self._lost("it did not start (does `grader doctor` find what is amiss?)")
        return said, pid

    def _reply(self) -> dict[str, Any]:
        readable, _, _ = select.select([self._control], [], [], _ORDER_SECONDS)
        data = self._control.recv(1 << 16) if readable else b""
        if not data:
            raise OSError("it does not answer")
        reply: dict[str, Any] = json.loads(data)
        return reply

    def _lost(self, why: str) -> ForkServerLost:
        said = self._end() or self._zygote.stderr()
        last = said.strip().splitlines()[-1:] or ["nothing more is known"]
        return ForkServerLost(f"the fork server was lost: {why}: {last[0]}")

    def _end(self) -> str:
        """Ends the fork server, by force if it does not obey; returns its last complaints."""
        if self.is_lost:
            return ""
        has_ended = self.has_ended
        self.is_lost = True
        with contextlib.suppress(OSError):
            os.write(self._life, _FAREWELL)
        os.close(self._life)
        self._control.close()
        # If the fork server ended by itself, its reaper says why, unless it is signalled too.
        said, has_ended = end_of_output(self._complaints, _SECONDS_TO_END if has_ended else 0)
        if not has_ended:
            self._signal(os.kill, signal.SIGTERM)
            more, has_ended = end_of_output(self._complaints, _SECONDS_TO_END)
            said += more
        if not has_ended:
            self._signal(os.killpg, signal.SIGKILL)
        os.close(self._complaints)
        return said

    def _signal(self, send: Callable[[int, int], None], number: int) -> None:
        """Signals the reaper or its group; its id is not reused while the complaints stay open."""
        if self._reaper:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                send(self._reaper, number)


def _ask_for_senders(channel: socket.socket) -> None:
    """Has the kernel attach the sender's credentials to each incoming message (Linux)."""
    if sys.platform == "linux":
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)


def _received(channel: socket.socket, size: int) -> tuple[bytes, int]:
    """Returns the next message and its sender's process id as seen here (Linux; else 0).

    In its own pid namespace, the sender has another process id.
    """
    data, told, _, _ = channel.recvmsg(size, socket.CMSG_SPACE(_CREDENTIALS.size))
    if sys.platform != "linux" or not told:
        return data, 0
    return data, int(_CREDENTIALS.unpack(told[0][2])[0])


@contextlib.contextmanager
def warm_zygote(granted: Sequence[str] = ()) -> Iterator[Zygote]:
    """Provides a zygote for one submission, whose workers may make the `granted` system calls."""
    with starting_zygote() as zygote:
        zygote.warm_up(granted=granted)
        yield zygote


@contextlib.contextmanager
def starting_zygote() -> Iterator[Zygote]:
    """Provides a zygote with its own ground for control groups.

    The zygote waits for `warm_up`. Both are removed in the end.
    """
    ground = None
    with contextlib.suppress(NoGround):
        ground = find_ground()
    zygote = Zygote(ground)
    here = os.getpid()
    try:
        yield zygote
    finally:
        zygote.close_own()
        if ground is not None and os.getpid() == here:
            ground.close()


class ForkServers:
    """One fork server at a time, forked from a zygote.

    A context manager. A fork of the process that made it may use it while that process waits.
    """

    def __init__(self, zygote: Zygote, scratch: Path, device: str = CPU) -> None:
        self._first = self._zygote = zygote
        self._scratch = scratch
        self._device = device
        self._ground = zygote.ground and zygote.ground.part(str(os.getpid()))
        self._start()

    def __enter__(self) -> ForkServers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_own()

    def close_own(self) -> None:
        """Ends the fork server if this very process started it."""
        if self._started_by == os.getpid():
            self._server.close()
        if self._zygote is not self._first:
            self._zygote.close_own()

    def give_up(self) -> None:
        """Ends the fork server with all its workers, and removes its control groups."""
        self._server.close()
        if self._ground is not None:
            self._ground.clear()

    def current(self) -> ForkServer:
        """Returns the running fork server; starts another one if it was lost."""
        if self._server.has_ended:
            self._server.close()
            self._start()
        return self._server

    def _start(self) -> None:
        self._started_by = os.getpid()
        if self._zygote.has_ended:
            lost = self._zygote
            self._zygote = Zygote(temporary=lost.temporary)
            self._zygote.warm_up(lost.preload, lost.granted, leaves_no_marks=lost.leaves_no_marks)
            if lost is not self._first:
                lost.close_own()
        self._server = ForkServer(self._zygote, self._scratch, self._device, self._ground)
