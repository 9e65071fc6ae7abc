"""The fork server in use: a lost one is replaced when the next worker is wanted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from grader.sandbox.forkserver import ForkServer


class ForkServers:
    """One fork server at a time; a context manager.

    A process that was forked from the one that made it may use it as well, while that one waits.
    """

    def __init__(self, scratch: Path, preload: Sequence[str], granted: Sequence[str] = ()) -> None:
        self._scratch = scratch
        self._preload = preload
        self._granted = granted
        self._start()

    def __enter__(self) -> ForkServers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_own()

    def close_own(self) -> None:
        """Ends the fork server, if it was this very process that started it."""
        if self._started_by == os.getpid():
            self._server.close()

    def give_up(self) -> None:
        """Ends the fork server, with all that it started."""
        self._server.close()
        self._server.is_lost = True

    def current(self) -> ForkServer:
        """A fork server that has not been lost."""
        if self._server.is_lost or self._server.has_ended:
            self._server.close()
            self._start()
        return self._server

    def _start(self) -> None:
        self._started_by = os.getpid()
        self._server = ForkServer(self._scratch, self._preload, self._granted)
