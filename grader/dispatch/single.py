"""One submission by itself, graded and explained."""

from __future__ import annotations

from dataclasses import replace

from grader.assignment import Assignment
from grader.dispatch.coordinator import Coordinator
from grader.dispatch.job_client import Follow
from grader.dispatch.task import Question, Task
from grader.intake import Entry, fingerprint
from grader.settings import Settings
from grader.verdict import Grade
from grader.words import PENDING, explained, wants_words


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
        (answer,) = coordinator.explain([Question(entry, lambda: grade)])
    return explained(grade, answer.words)
