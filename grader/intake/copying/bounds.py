"""What taking in one submission may cost before its own author has to answer for it."""

from __future__ import annotations

from dataclasses import dataclass

from grader.intake.copying.limits import DEFAULT_LIMITS, MIB


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bytes of memory beyond what the process begins with, processor time, and time in all.

    Times are whole seconds. `file` is the bytes of the largest file that may be written: an archive
    that is a piece of a download.
    """

    memory: int = 768 * MIB
    processor_seconds: int = 20
    seconds: int = 120
    file: int = DEFAULT_LIMITS.archive + MIB


DEFAULT_BOUNDS = Bounds()
