"""Submissions with a worker, which tests call without a judge."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from grader.core.assignment import Assignment
from grader.core.folders import new_scratch
from grader.explain.answers import InFull
from grader.intake.client import IntakeClient
from grader.intake.entry import Entry
from grader.sandbox.fork_server import ForkServers, warm_zygote
from grader.sandbox.preparation import SubmissionPreparation
from grader.sandbox.session import Session, SessionLimits


@contextlib.contextmanager
def prepared(assignment: Assignment, folder: Path, limits: SessionLimits) -> Iterator[Session]:
    """Yields the session of the submission in a folder."""
    with (
        new_scratch() as scratch,
        warm_zygote() as zygote,
        ForkServers(zygote, scratch) as servers,
        IntakeClient() as intake,
    ):
        preparation = SubmissionPreparation(
            assignment, "adapters.py", servers, intake, scratch, InFull()
        )
        with preparation.prepared(Entry(folder.name, folder), limits) as session:
            yield session
