"""The fork server in use: a lost one is replaced when the next worker is wanted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from grader.sandbox.forkserver import ForkServer
from grader.sandbox.groups import NoGround, find_ground
from grader.settings import CPU


class ForkServers:
    """One fork server at a time, and the ground for its workers' control groups.

    A context manager. A process that was forked from the one that made it may use it as well, while
    that one waits.
    """

    def __init__(
        self,
        scratch: Path,
        preload: Sequence[str] = (),
        device: str = CPU,
        granted: Sequence[str] = (),
    ) -> None:
        self._scratch = scratch
        self._preload = preload
        self._granted = granted
        self._device = device
        self._made_by = os.getpid()
        found = find_ground()
        self._ground = None if isinstance(found, NoGround) else found
        self._start()

    def __enter__(self) -> ForkServers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_own()

    def close_own(self) -> None:
        """Ends the fork server, if it was this very process that started it."""
        here = os.getpid()
        if self._started_by == here:
            self._server.close()
        if self._ground is not None and self._made_by == here:
            self._ground.close()

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
        self._server = ForkServer(
            self._scratch, self._preload, self._device, self._ground, self._granted
        )
