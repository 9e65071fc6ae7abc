"""Makes a verdict of how a test ended."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from grader.core.plain_text import plain
from grader.core.verdict import Aspect, Measurement, Status, Verdict, Visibility, Where
from grader.testing.assertions.assertions import WrongNumbers
from grader.testing.outcome import Observations, StudentFault


@dataclass(frozen=True, slots=True)
class Test:
    """What every verdict on a test says of the test; `about` is a sentence for its readers."""

    id: str
    exercise: str
    aspect: Aspect
    points: float
    visibility: Visibility
    about: str

    @staticmethod
    def is_outcome(raised: BaseException | None) -> bool:
        """Whether what a test raised, if anything, is of the kind with which tests end."""
        kinds = StudentFault | AssertionError | pytest.fail.Exception
        return raised is None or isinstance(raised, kinds)

    def ended(self, raised: BaseException | None, observed: Observations) -> Verdict:
        """The verdict on a test that was run, in plain words: none of them is the submission's.

        What is no outcome of a test is the grader's own fault. How far off wrong numbers are would
        tell what is right.
        """
        match raised:
            case None:
                notes = "; ".join(observed.notes) or None
                return self.verdict(Status.PASSED, notes, observed.worst)
            case StudentFault():
                return self.verdict(raised.status, raised.message)
            case WrongNumbers():
                return self.verdict(Status.FAILED, f"wrong numbers: {self.about}")
            case _ if self.is_outcome(raised):
                return self.verdict(Status.FAILED, f"does not hold: {self.about}")
        message = f"the grader's own fault, not the submission's: {raised!r}"
        return self.verdict(Status.NOT_GRADED, message)

    def again(self, verdict: Verdict) -> Verdict:
        """An earlier verdict on this test, as it would be reached now."""
        return verdict._replace(
            score=self.points if verdict.status is Status.PASSED else 0.0,
            max_score=self.points,
            visibility=self.visibility,
            aspect=self.aspect,
        )

    def verdict(
        self,
        status: Status,
        message: str | None,
        measurement: Measurement | None = None,
        where: Where | None = None,
    ) -> Verdict:
        """A verdict on this test."""
        return Verdict(
            id=self.id,
            exercise=self.exercise,
            aspect=self.aspect,
            status=status,
            score=self.points if status is Status.PASSED else 0.0,
            max_score=self.points,
            visibility=self.visibility,
            message=None if message is None else plain(message),
            measurement=measurement,
            where=where,
        )
