"""Jobs that grade a submission and explain the grade, as a batch does."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from grader.core.assignment import Settings
from grader.core.explanation import explained
from grader.core.verdict import Grade, Verdict
from grader.grading.job.client import Follow, JobClient
from grader.grading.options import Task
from grader.intake.entry import Entry
from tests.harness.waiting import PATIENCE


class GradingJob:
    """A pair of jobs, a judge and an explainer, that grade and explain submissions in turn.

    The two jobs stay the same, so that they keep what they remember. Explanations get enough time
    even on a busy machine.
    """

    def __init__(self, settings: Settings, jobs: Sequence[JobClient] = ()) -> None:
        self.judge, self.explainer = jobs or _patient(settings, 2)

    @classmethod
    def several(cls, settings: Settings, count: int) -> list[GradingJob]:
        """Starts this number of pairs, which share one collection of tests."""
        jobs = _patient(settings, 2 * count)
        return [cls(settings, jobs[2 * place : 2 * place + 2]) for place in range(count)]

    def grade(
        self,
        entry: Entry,
        submission_hash: str,
        follow: Follow | None = None,
        kept: Sequence[Verdict] = (),
    ) -> Grade:
        """Returns the grade of a submission with its explanations."""
        grade = self.judge.grade(Task(entry, 0, submission_hash, "", tuple(kept)), follow)
        return explained(grade, self.explainer.explain(entry, grade))

    def close(self) -> None:
        """Ends the jobs."""
        self.judge.close()
        self.explainer.close()


def _patient(settings: Settings, count: int) -> list[JobClient]:
    patient = dataclasses.replace(settings, explain_seconds=PATIENCE)
    return JobClient.several(patient, count, submissions=1)
