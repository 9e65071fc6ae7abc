"""Jobs that grade a submission and explain the grade, as a batch does."""

from __future__ import annotations

import dataclasses

from grader.core.assignment import Settings
from grader.core.explanation import explained
from grader.core.verdict import Grade
from grader.grading.job.client import Follow, JobClient
from grader.grading.options import Task
from grader.intake.entry import Entry
from tests.harness.waiting import PATIENCE


class GradingJob:
    """A pair of jobs, a judge and an explainer, that grade and explain submissions in turn.

    The two jobs stay the same, so that they keep what they remember. Explanations get enough time
    even on a busy machine.
    """

    def __init__(self, settings: Settings) -> None:
        patient = dataclasses.replace(settings, explain_seconds=PATIENCE)
        self.judge, self.explainer = JobClient.several(patient, 2, submissions=1)

    def grade(
        self,
        entry: Entry,
        submission_hash: str,
        follow: Follow | None = None,
    ) -> Grade:
        """Returns the grade of a submission with its explanations."""
        grade = self.judge.grade(Task(entry, 0, submission_hash, ""), follow)
        return explained(grade, self.explainer.explain(entry, grade))

    def close(self) -> None:
        """Ends the jobs."""
        self.judge.close()
        self.explainer.close()
