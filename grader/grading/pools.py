"""The pool that is meant: of this machine or a cluster, or one submission alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace

from grader.core.assignment import Assignment
from grader.core.explanation import PENDING, explained, wants_words
from grader.core.processors import processors
from grader.core.settings import Settings
from grader.core.verdict import Grade
from grader.grading.coordinator import Coordinator
from grader.grading.job.client import Follow
from grader.grading.options import require_isolation as require_every_layer
from grader.grading.pool import ExplanationTask, JobPool, Pools, Task
from grader.intake.entry import Entry
from grader.intake.fingerprint import fingerprint


def graded_alone(
    entry: Entry,
    assignment: Assignment,
    settings: Settings,
    explain: bool = True,
    follow: Follow | None = None,
) -> Grade:
    """Returns the grade of one submission, with its words if these are wanted.

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


Say = Callable[[str], None]


@contextlib.contextmanager
def chosen_pools(
    scheduler: str | None,
    jobs: int | None,
    say: Say,
    require_isolation: bool = False,
    waits: Say | None = None,
) -> Iterator[Pools]:
    """Pools of `jobs` judges here, or on the cluster whose `scheduler` has that address.

    By default there are as many judges as processors here, or as threads there. `say` is told in
    sentences what becomes of the cluster's machines, `waits` what is waited for here. If isolation
    is required, it is so of the machines that grade.

    Raises:
        NotIsolated: if isolation is required here and does not hold.
        NoCluster: if the scheduler does not answer, or the package for it is not installed.
    """
    if scheduler is None:
        if require_isolation:
            require_every_layer()
        yield lambda settings: Coordinator(settings, jobs or processors(), say=waits)
        return
    from grader.grading.cluster.connection import connected

    with connected(scheduler) as client:
        from grader.grading.cluster.pool import ClusterPool, Terms

        terms = Terms(jobs, require_isolation)

        def pool(settings: Settings) -> JobPool:
            return ClusterPool(client, scheduler, settings, terms, say)

        yield pool
