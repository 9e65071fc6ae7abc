"""The fork server in use: a lost one is replaced when the next worker is wanted."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.core.settings import CPU
from grader.sandbox.cgroups.finding import find_ground
from grader.sandbox.cgroups.ground import NoGround
from grader.sandbox.forkserver import ForkServer
from grader.sandbox.zygote import Zygote


@contextlib.contextmanager
def warm_zygote(
    preload: Sequence[str] = (), granted: Sequence[str] = (), submissions: int = 1
) -> Iterator[Zygote]:
    """A zygote on a ground for control groups that is its own; both are gone in the end."""
    found = find_ground()
    ground = None if isinstance(found, NoGround) else found
    zygote = Zygote(preload, granted, ground, submissions)
    here = os.getpid()
    try:
        yield zygote
    finally:
        zygote.close_own()
        if ground is not None and os.getpid() == here:
            ground.close()


class ForkServers:
    """One fork server at a time, forked from a zygote.

    A context manager. A process that was forked from the one that made it may use it as well, while
    that one waits.
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
        """Ends the fork server, if it was this very process that started it."""
        if self._started_by == os.getpid():
            self._server.close()
        if self._zygote is not self._first:
            self._zygote.close_own()

    def give_up(self) -> None:
        """Ends the fork server, with all that it started and all that was made for it."""
        self._server.close()
        if self._ground is not None:
            self._ground.clear()

    def current(self) -> ForkServer:
        """A fork server that has not been lost."""
        if self._server.has_ended:
            self._server.close()
            self._start()
        return self._server

    def _start(self) -> None:
        self._started_by = os.getpid()
        if self._zygote.has_ended:
            lost = self._zygote
            self._zygote = Zygote(lost.preload, lost.granted, temporary=lost.temporary)
        self._server = ForkServer(self._zygote, self._scratch, self._device, self._ground)
