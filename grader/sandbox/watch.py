"""Looks at what a worker uses, for every limit that the kernel does not keep here."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox.allowance import Allowance, Exceeded
from grader.sandbox.disk import Room, fits, take_unlisted
from grader.sandbox.usage import Usage, family

_BETWEEN_LOOKS_AT_DISK = 0.05


@dataclass(frozen=True, slots=True)
class Watched:
    """A worker: its process, its user if it has one of its own, and what it writes to."""

    pid: int
    user: int | None
    scratch: Path


class UsageWatch:
    """Looks at one worker, from when it has used nothing yet.

    `kept` names the limits that need no watching: of memory, threads, disk. While `is_alone`, the
    worker can start no other process.
    """

    def __init__(self, watched: Watched, allowance: Allowance) -> None:
        self._watched = watched
        self._allowance = allowance
        self._before = Usage.of([watched.pid])
        self._looked_at_disk = 0.0
        self.kept: Collection[str] = ()
        self.is_alone = False

    @property
    def held(self) -> int:
        """The bytes of memory that it holds now, and did not when it was first looked at."""
        return self._usage().memory - self._before.memory

    def look(self) -> None:
        """Looks once.

        Raises:
            Exceeded: if it uses more than it may.
        """
        if not {"memory", "threads"} <= set(self.kept):
            self._look_at_memory()
        # To look through folders takes twenty times as long, and to fill them longer.
        now = time.monotonic()
        if "disk" not in self.kept and now - self._looked_at_disk >= _BETWEEN_LOOKS_AT_DISK:
            self._looked_at_disk = now
            self._look_at_disk()

    def _look_at_memory(self) -> None:
        allowance, usage = self._allowance, self._usage()
        if "memory" not in self.kept and usage.memory - self._before.memory > allowance.memory:
            raise out_of_memory(allowance)
        if "threads" not in self.kept and usage.threads > allowance.threads:
            raise Exceeded(f"it started more than the {allowance.threads} threads that it may")

    def _usage(self) -> Usage:
        pid = self._watched.pid
        return Usage.of([pid] if self.is_alone else family(pid))

    def _look_at_disk(self) -> None:
        watched, allowance = self._watched, self._allowance
        room = Room(allowance.disk, allowance.files)
        there = fits(watched.scratch, room)
        take_unlisted(watched.pid, watched.scratch, allowance.file_size, watched.user, room)
        if not there or not room.is_left:
            raise Exceeded(
                f"it wrote more than the {allowance.disk >> 20} MB or {allowance.files} files "
                "that it may, or where they cannot be counted"
            )


def out_of_memory(allowance: Allowance) -> Exceeded:
    """What is said of a worker that took too much memory."""
    return Exceeded(f"it used more than the {allowance.memory >> 20} MB of memory that it may")
