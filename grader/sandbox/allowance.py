"""What one worker may use."""

from __future__ import annotations

from dataclasses import dataclass

from grader.core.settings import CPU
from grader.sandbox.clock import Taken


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one worker may use: bytes of memory, bytes and files on disk, threads, processor time.

    The last in seconds. Beside the CPU, the `device`, as torch names it.
    """

    memory: int
    disk: int = 256 << 20
    files: int = 10_000
    file_size: int = 64 << 20
    threads: int = 256
    cpu_seconds: int = 600
    device: str = CPU


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a worker is waited for, in seconds.

    `own` counts what it takes by itself, be it that it computes, with as many threads as it likes,
    or does nothing; `wall` what a clock on the wall shows: a net for when the machine is busy.
    """

    own: float
    wall: float

    def check(self, taken: Taken) -> None:
        """Says when it is at an end.

        Raises:
            Late: if so; the text says what was too long.
        """
        if taken.processor > self.own:
            raise Late(f"{self.own:.3g} seconds of processor time")
        if taken.own > self.own:
            raise Late(f"{self.own:.3g} seconds")
        if taken.wall > self.wall:
            raise Late(f"{self.wall:.3g} seconds by the clock")


class Exceeded(Exception):
    """A worker used more than it may; the text says of what."""


class Late(Exception):
    """A worker did not answer in time; the text says in which."""
