"""What one worker may use."""

from __future__ import annotations

from dataclasses import dataclass

from grader.settings import CPU


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

    `processor` counts what it computes; `own` what it takes, whatever it does, less what this
    machine keeps it waiting; `wall` what a clock on the wall shows: a net under both.
    """

    processor: float
    own: float
    wall: float


class Exceeded(Exception):
    """A worker used more than it may; the text says of what."""
