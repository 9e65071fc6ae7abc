"""Makes a verdict of how a test ended."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from grader.plain_text import plain
from grader.testing.outcome import Observations, StudentFault
from grader.verdict import Aspect, Measurement, Status, Verdict, Visibility, Where


@dataclass(frozen=True, slots=True)
class Test:
    """What every verdict on a test says of the test; `about` is a sentence for its readers."""

    id: str
    exercise: str
    aspect: Aspect
    points: float
    visibility: Visibility
    about: str

    def ended(
        self, raised: BaseException | None, observed: Observations, duration: float
    ) -> Verdict:
        """The verdict on a test that was run; what else it may raise is the grader's own fault."""
        if raised is None:
            notes = "; ".join(observed.notes) or None
            return self.verdict(Status.PASSED, notes, duration, observed.worst)
        where = None
        if isinstance(raised, StudentFault):
            status, message, where = raised.status, raised.message, raised.where
        elif isinstance(raised, AssertionError | pytest.fail.Exception):
            status, message = Status.FAILED, str(raised) or self.about
        else:
            status = Status.NOT_GRADED
            message = f"the grader's own fault, not the submission's: {raised!r}"
        return self.verdict(status, message, duration, observed.worst, where)

    def verdict(
        self,
        status: Status,
        message: str | None,
        duration: float = 0.0,
        measurement: Measurement | None = None,
        where: Where | None = None,
    ) -> Verdict:
        """A verdict on this test; seconds for the `duration`."""
        return Verdict(
            id=self.id,
            exercise=self.exercise,
            aspect=self.aspect,
            status=status,
            score=self.points if status is Status.PASSED else 0.0,
            max_score=self.points,
            visibility=self.visibility,
            duration_s=round(duration, 6),
            message=None if message is None else plain(message),
            measurement=measurement,
            where=where,
        )
