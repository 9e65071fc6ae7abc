"""Errors while grading: which count against the submission, and which against the machine."""

from __future__ import annotations

import contextlib
import errno
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.core.assignment import Settings, find_assignment
from grader.core.submission import Unreadable
from grader.core.verdict import GradeStatus
from grader.grading.judge import service
from grader.grading.judge.service import JudgeService
from grader.grading.options import Task
from grader.intake.copying import CopyFailed
from grader.intake.entry import Entry
from grader.sandbox import zygote
from grader.sandbox.fork_server import ForkServer, ForkServerLost, warm_zygote
from grader.sandbox.session import SessionLimits
from grader.testing.outcome import StudentFault
from tests.harness.conftest import write_files
from tests.harness.prepared_submissions import prepared

pytestmark = pytest.mark.unit


def outcome_of(problem: BaseException) -> GradeStatus:
    """Returns the status of a submission whose preparation raises `problem`."""

    @contextlib.contextmanager
    def taken(*_):
        raise problem
        yield

    judge = object.__new__(JudgeService)
    assignment = SimpleNamespace(call_timeout=1.0)
    judge._suite = SimpleNamespace(assignment=assignment, unexamined=lambda *_: [])
    judge._settings = settings = Settings("course", 1, (), "adapters.py", 1.0, 64, "suite")
    judge._preparation = SimpleNamespace(prepared=taken)
    task = Task(Entry("alice", Path("alice")), 0, "hash", "")
    blank = task.ungraded(settings, None)
    return judge._examined(blank, task, False).status


@pytest.mark.parametrize(
    "problem",
    [
        CopyFailed("the disk is full"),
        ForkServerLost("it did not start"),
        OSError(errno.ENOSPC, "no space left"),
        OSError(errno.EMFILE, "too many open files"),
        OSError(errno.EIO, "the disk is broken"),
    ],
    ids=repr,
)
def test_the_machines_faults_cost_nobody_points(problem):
    """A full disk is not a student's fault."""
    assert outcome_of(problem) is GradeStatus.NOT_GRADED


@pytest.mark.parametrize(
    ("has_memory", "status"), [(True, GradeStatus.UNREADABLE), (False, GradeStatus.NOT_GRADED)]
)
def test_a_memory_error_is_the_machines_fault_only_without_free_memory(
    monkeypatch, has_memory, status
):
    """On a machine with free memory, the submission's answers took the judge to its limit."""
    monkeypatch.setattr(service, "machine_has", lambda _: has_memory)
    assert outcome_of(MemoryError()) is status


@pytest.mark.process
def test_a_fork_server_that_cannot_start_says_why(tmp_path, monkeypatch):
    """The instructor needs the reason, and a hint where to look."""
    broken = f"import sys; sys.modules['torch'] = None; {zygote._BOOT}"
    monkeypatch.setattr(zygote, "_BOOT", broken)
    with (
        warm_zygote() as warm,
        contextlib.closing(ForkServer(warm, tmp_path)) as server,
        pytest.raises(ForkServerLost) as lost,
    ):
        server.wait_until_ready()
    said = str(lost.value)
    assert "it did not start (does `grader doctor` find what is amiss?)" in said
    assert said.endswith("import of torch halted; None in sys.modules")


@pytest.mark.parametrize(
    "problem",
    [
        Unreadable("there is nothing in it"),
        OSError(errno.ENAMETOOLONG, "the name is too long"),
        RecursionError(),
        ValueError("x" * 10_000),
        KeyError("\udcff"),
        RuntimeError(),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_any_other_error_makes_the_submission_unreadable(problem):
    """Otherwise a student who makes the grader raise an exception would never get a grade."""
    assert outcome_of(problem) is GradeStatus.UNREADABLE


RIGHT_TO_BE_ASKED = "def run_double(x):\n    return 2 * x\n"


def graded_without(above: int, tiny: Path, tmp_path: Path) -> StudentFault | None:
    """Removes the scratch folder `above` levels over the submission's copy, then imports it."""
    folder = write_files(tmp_path / "alice", {"adapters.py": RIGHT_TO_BE_ASKED})
    limits = SessionLimits(20.0, 10.0, 100.0, 1 << 30)
    with prepared(find_assignment(tiny), folder, limits) as one:
        root = one.submission.root
        shutil.rmtree([root, *root.parents][above])
        return one.session.open()


@pytest.mark.process
@pytest.mark.parametrize("above", [0, 2, 3])
def test_a_removed_scratch_folder_is_not_the_fault_of_the_submission(tiny, tmp_path, above):
    """A cleanup of the temporary folder also removes the files that a worker imports."""
    with pytest.raises(CopyFailed, match="removed its scratch folder"):
        graded_without(above, tiny, tmp_path)
