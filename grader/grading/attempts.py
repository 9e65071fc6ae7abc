"""Asking a judge for a grade, and what becomes of a submission whose judges are lost."""

from __future__ import annotations

import threading

from grader.core.settings import Settings
from grader.core.verdict import Grade, GradeStatus
from grader.grading.job.client import Follow, JobClient, JobLost
from grader.grading.task import Task

_TRIES = 2


def attempted(
    client: JobClient,
    task: Task,
    settings: Settings,
    stopping: threading.Event,
    follow: Follow | None = None,
) -> Grade:
    """The grade of a submission; if its judge is lost, it is tried once more with a new one.

    After that it is *not graded*, which costs nobody points.

    Raises:
        BadAssignment: if the assignment's tests cannot be run.
    """
    problem = ""
    for _ in range(_TRIES):
        try:
            return client.grade(
                task.entry, task.submission_hash, follow, task.kept, task.carried, task.late_import
            )
        except JobLost as lost:
            problem = str(lost)
            if stopping.is_set():
                break
    return not_graded(task, settings, problem)


def not_graded(task: Task, settings: Settings, problem: str) -> Grade:
    """The grade of a submission that got none, for a reason that is ours."""
    return Grade(
        submission=task.entry.name,
        status=GradeStatus.NOT_GRADED,
        score=0.0,
        max_score=0.0,
        seed=settings.seed,
        submission_hash=task.submission_hash,
        suite_hash=settings.suite_hash,
        duration_s=0.0,
        message=problem,
        isolation={},
        tests=(),
    )
