"""Prepares a submission: its private copy, and the session that answers calls."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.core.assignment import Assignment
from grader.core.replies import Unremarkable
from grader.core.scratch import PASSABLE, removed_afterwards
from grader.core.submission import Submission
from grader.intake.client import IntakeClient
from grader.intake.copying.private_copy import CopyFailed
from grader.intake.entry import Entry
from grader.sandbox.device import turn_on
from grader.sandbox.environment import Environment
from grader.sandbox.forbidden_uses import Uses
from grader.sandbox.fork_server import ForkServers
from grader.sandbox.session import Session, SessionLimits
from grader.testing.outcome import Wording


@dataclass(frozen=True, slots=True)
class PreparedSubmission:
    """A submission that was taken in, its session, what it uses and what it finds installed."""

    submission: Submission
    session: Session
    uses: Uses
    environment: Environment


class SubmissionPreparation:
    """Prepares one submission after another, each in a folder of its own."""

    def __init__(
        self,
        assignment: Assignment,
        adapters: str,
        servers: ForkServers,
        intake: IntakeClient,
        scratch: Path,
        wording: Wording,
    ) -> None:
        self._assignment = assignment
        self._adapters = adapters
        self._servers = servers
        self._intake = intake
        self._scratch = scratch
        self._wording = wording
        self._familiar = Unremarkable()

    @contextlib.contextmanager
    def prepared(self, entry: Entry, limits: SessionLimits) -> Iterator[PreparedSubmission]:
        """Yields the prepared submission; whatever it leaves behind is removed.

        Raises:
            Unreadable: if there is nothing in it that could be asked.
            CopyFailed: if this machine has no room for it.
            ForkServerLost: if nobody knows whose turn it is on the device.
        """
        with self._folder() as folder, _unless_gone(folder) as kept:
            copies = folder / "taken-in"
            copies.mkdir()
            submission = self._intake.take_in(entry, copies, self._adapters)
            kept += [submission.root, submission.root / submission.adapters]
            uses = Uses(self._assignment.forbidden, submission.root)
            environment = Environment(self._assignment, submission.root)
            session = Session(
                self._servers.current,
                submission,
                limits,
                folder,
                uses,
                environment,
                self._familiar,
                self._wording,
            )
            with turn_on(limits.device), contextlib.closing(session):
                yield PreparedSubmission(submission, session, uses, environment)

    @contextlib.contextmanager
    def _folder(self) -> Iterator[Path]:
        try:
            made = Path(tempfile.mkdtemp(dir=self._scratch))
        except OSError as error:
            raise CopyFailed(f"cannot make a scratch folder: {error.strerror}") from error
        with removed_afterwards(made) as folder:
            folder.chmod(PASSABLE)
            yield folder


@contextlib.contextmanager
def _unless_gone(folder: Path) -> Iterator[list[Path]]:
    """Refuses all that comes of a submission whose folder, or files noted later, others removed.

    Raises:
        CopyFailed: if so; no worker may remove them.
    """
    kept = [folder]
    try:
        yield kept
    except Exception as problem:
        _require_all(kept, problem)
        raise
    _require_all(kept)


def _require_all(kept: Sequence[Path], problem: Exception | None = None) -> None:
    if not all(path.exists() for path in kept):
        said = "somebody else removed its scratch folder while it was graded"
        raise CopyFailed(said) from problem
