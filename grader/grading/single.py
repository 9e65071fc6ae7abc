"""One submission by itself, graded and explained."""

from __future__ import annotations

from dataclasses import replace

from grader.core.assignment import Assignment
from grader.core.settings import Settings
from grader.core.verdict import Grade
from grader.core.words import PENDING, explained, wants_words
from grader.grading.coordinator import Coordinator
from grader.grading.job.client import Follow
from grader.grading.task import ExplanationTask, Task
from grader.intake.entry import Entry
from grader.intake.fingerprint import fingerprint


def graded_alone(
    entry: Entry,
    assignment: Assignment,
    settings: Settings,
    explain: bool = True,
    follow: Follow | None = None,
) -> Grade:
    """The grade of one submission, with its words if these are wanted.

    `follow` is given each verdict when it is reached.

    Raises:
        BadAssignment: if the assignment's tests cannot be run.
    """
    task = Task(entry, 0, fingerprint(entry), "")
    with Coordinator(settings, 1, follow) as coordinator:
        (graded,) = coordinator.grade([task])
        grade = graded.grade
        if not wants_words(grade, bool(assignment.forbidden)):
            return grade
        if not explain:
            return replace(grade, unexplained=PENDING)
        (answer,) = coordinator.explain([ExplanationTask(entry, lambda: grade)])
    return explained(grade, answer.words)
