"""What a test says of a submission: faults, measurements and notes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from grader.testing.newer_python import wanted_python
from grader.verdict import Measurement, Status, Where
from grader.wire.calls import Raised


class StudentFault(Exception):
    """A test ends here, by the submission's doing."""

    def __init__(self, status: Status, message: str, where: Where | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.where = where

    def again(self) -> StudentFault:
        """The same fault, to be raised once more: an exception object gathers its tracebacks."""
        return StudentFault(self.status, self.message, self.where)


@dataclass(slots=True)
class Observations:
    """What a running test measures and notes beside its outcome."""

    measurements: list[Measurement] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def worst(self) -> Measurement | None:
        """The measurement that came nearest to its tolerance, or went farthest beyond it."""
        return max(self.measurements, key=lambda m: m.error_over_tolerance, default=None)


_current: ContextVar[Observations | None] = ContextVar("observations", default=None)


@contextmanager
def observing() -> Iterator[Observations]:
    """Collects what the assertions inside measure and note."""
    observations = Observations()
    token = _current.set(observations)
    try:
        yield observations
    finally:
        _current.reset(token)


def measured(measurement: Measurement) -> None:
    """Adds a measurement to the running test."""
    observations = _current.get()
    if observations is not None:
        observations.measurements.append(measurement)


def note(text: str) -> None:
    """Adds a remark to the running test that costs nothing."""
    observations = _current.get()
    if observations is not None:
        observations.notes.append(text)


def fault_of(raised: Raised, adapter: str) -> StudentFault:
    """The fault for what a submission raised: its kind, its text and its own innermost line."""
    last = raised.frames[-1] if raised.frames else None
    where = Where(last.file, last.line) if last else None
    place = f" ({last.file}, line {last.line}: {last.source})" if last else ""
    if raised.missing:
        return StudentFault(Status.MISSING, f"{adapter} is not implemented yet{place}", where)
    text = f"{raised.kind}: {raised.message}" if raised.message else raised.kind
    if (needed := wanted_python(raised)) is not None:
        this = ".".join(map(str, sys.version_info[:2]))
        text = (
            f"this is code for Python {needed[0]}.{needed[1]} or newer, and this is {this}: {text}"
        )
    return StudentFault(Status.ERROR, f"{text}{place}", where)
