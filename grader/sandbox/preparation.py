"""Prepares a submission: its private copy, and the session that answers calls.

A confined worker tries a device other than the CPU before any submission is graded on it.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from grader.core.assignment import Assignment, BadAssignment
from grader.core.folders import PASSABLE, removed_afterwards
from grader.core.names import CPU
from grader.core.processes import Allowance
from grader.core.wire.calls import Call
from grader.intake.client import IntakeClient
from grader.intake.copying import CopyFailed
from grader.intake.entry import Entry
from grader.sandbox.claims import Uses
from grader.sandbox.environment import Environment
from grader.sandbox.fork_server import ForkServer, ForkServerLost, ForkServers
from grader.sandbox.limits import Patience
from grader.sandbox.probe import confined_worker
from grader.sandbox.session import Session, SessionLimits
from grader.sandbox.worker import WorkerLost
from grader.testing.outcome import Wording

_MEMORY = 8 << 30
_PATIENCE = Patience(120.0, 240.0)


def require_device(server: ForkServer, scratch: Path, device: str) -> None:
    """Has a confined worker compute on the device, so that no submission is the first to fail.

    Raises:
        BadAssignment: if the worker cannot, or does not start; the text says why.
    """
    if device == CPU:
        return
    try:
        why = _tried(server, scratch, device)
    except (WorkerLost, ForkServerLost) as lost:
        why = str(lost)
    if why:
        raise BadAssignment(
            f"--device {device}: a worker on this machine cannot use it ({' '.join(why.split())}): "
            f"grade with --device {CPU}, or where torch {torch.__version__} finds such a device"
        )


def _tried(server: ForkServer, scratch: Path, device: str) -> str:
    """Returns why a worker could not compute on the device; an empty text if it could."""
    with confined_worker(server, scratch, Allowance(_MEMORY, device=device)) as worker:
        call = Call("run_add", {"x": torch.ones(2)}, device=device)
        answer = worker.ask(call, _PATIENCE).opened()
    if answer.raised is not None:
        return f"{answer.raised.kind}: {answer.raised.message}"
    is_right = isinstance(answer.value, torch.Tensor) and answer.value.tolist() == [2.0, 2.0]
    return "" if is_right else "another result came back"


@dataclass(eq=False, slots=True)
class SubmissionPreparation:
    """Prepares one submission after another, each in a folder of its own."""

    _assignment: Assignment
    _adapters: str
    _servers: ForkServers
    _intake: IntakeClient
    _scratch: Path
    _wording: Wording

    @contextlib.contextmanager
    def prepared(self, entry: Entry, limits: SessionLimits) -> Iterator[Session]:
        """Yields the session of a submission, and removes all its files afterwards.

        Raises:
            Unreadable: if nothing in it can be graded.
            CopyFailed: if this machine has no room for it, or its files were removed meanwhile.
        """
        with self._folder() as folder, _unless_gone(folder) as kept:
            copies = folder / "taken-in"
            copies.mkdir()
            submission = self._intake.take_in(entry, copies, self._adapters)
            kept += [submission.root, submission.root / submission.adapters]
            session = Session(
                self._servers.current,
                submission,
                limits,
                folder,
                Uses(self._assignment.forbidden, submission.root),
                Environment(self._assignment, submission.root),
                self._wording,
            )
            with contextlib.closing(session):
                yield session

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
    """Discards the result of a submission whose folder, or files noted later, were removed.

    Raises:
        CopyFailed: if so. Another process did it, as no worker may remove them.
    """
    kept = [folder]
    problem: Exception | None = None
    try:
        yield kept
    except Exception as raised:
        problem = raised
    if not all(path.exists() for path in kept):
        said = "somebody else removed its scratch folder while it was graded"
        raise CopyFailed(said) from problem
    if problem is not None:
        raise problem
