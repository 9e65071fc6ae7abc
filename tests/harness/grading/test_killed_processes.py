"""A killed process of a batch: every submission is still graded, and no grade is wrong."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from grader import batch
from grader.results.store import Store
from tests.harness.conftest import ROOT, write_files
from tests.harness.marks import rest_slow
from tests.harness.waiting import PATIENCE, until

pytestmark = pytest.mark.process

JOB, ZYGOTE = "grader.grading.job.process", "grader.worker.zygote"
SEED = 3
SLOW = "import time; time.sleep(0.3)\n"
COUNT = "def run_count(x):\n    return x.numel()\n"
PROGRAMS = (
    f"def run_double(x):\n    return 2 * x\n{COUNT}",
    f"def run_double(x):\n    return 3 * x\n{COUNT}",
    f"def run_double(x):\n    raise ValueError\n{COUNT}",
    f"def run_double(x):\n    return x + x\n{COUNT}",
)
Outcomes = dict[str, tuple[str, float, tuple[str, ...]]]


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten slow submissions, of four programs in turn."""
    programs = {f"s{n:02}": SLOW + PROGRAMS[n % len(PROGRAMS)] for n in range(10)}
    files = {f"{name}/adapters.py": program for name, program in programs.items()}
    return write_files(tmp_path_factory.mktemp("handed-in"), files)


@pytest.fixture(scope="module")
def undisturbed(tiny: Path, handed_in: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """The outcomes of `handed_in` when no process is killed."""
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    batch(handed_in, out, assignment=tiny, seed=SEED, jobs=1, explain=False)
    found = outcomes(out)
    assert {(status, score) for status, score, _ in found.values()} == {
        ("graded", 1),
        ("graded", 5),
    }
    return found


def kill_zygote(batch: psutil.Process) -> None:
    """Kills the zygote that forks the fork servers, and waits until it is gone."""
    (one,) = _zygotes(batch)
    one.kill()
    psutil.wait_procs([one], PATIENCE)


def kill_one_job(batch: psutil.Process) -> None:
    """Kills one of two jobs, and so its judge and workers."""
    one, _ = _jobs(batch)
    one.kill()


def kill_one_judge(batch: psutil.Process) -> None:
    """Kills the judge of one job, which then forks a new one."""
    job, _ = _jobs(batch)
    (judge,) = _children(job, JOB)
    judge.kill()


@pytest.mark.parametrize("kill", rest_slow([kill_one_job, kill_zygote, kill_one_judge], 3))
def test_a_killed_process_costs_no_submission_its_grade(
    tiny, handed_in, undisturbed, tmp_path, kill
):
    """Linux kills processes when memory is short. Submissions in progress are tried again."""
    assert graded(tiny, handed_in, tmp_path / "out", kill) == 0
    assert outcomes(tmp_path / "out") == undisturbed


def graded(tiny: Path, handed_in: Path, out: Path, kill: Callable[[psutil.Process], None]) -> int:
    """Returns the exit code of a batch with two jobs, in which `kill` killed a process."""
    command = [*("batch", str(handed_in), "--out", str(out)), "--seed", str(SEED), "--jobs", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", *command, "--no-explain"],
        cwd=tiny,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: process.poll() is not None or _stored(out) >= 3, "three grades are stored")
        assert process.poll() is None
        kill(psutil.Process(process.pid))
        return process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()


def outcomes(out: Path) -> Outcomes:
    """Returns status, score and the tests' statuses by submission."""
    return {
        grade.submission: (grade.status, grade.score, tuple(test.status for test in grade.tests))
        for grade in Store.read(out).grades()
    }


def _jobs(batch: psutil.Process) -> list[psutil.Process]:
    """Returns the processes of jobs, without their judges."""
    return [job for collector in _children(batch, JOB) for job in _children(collector, JOB)]


def _zygotes(batch: psutil.Process) -> list[psutil.Process]:
    """Returns the zygotes, without their fork servers."""
    return [one for collector in _children(batch, JOB) for one in _children(collector, ZYGOTE)]


def _children(process: psutil.Process, what: str) -> list[psutil.Process]:
    return [one for one in process.children() if what in _said(one)]


def _said(process: psutil.Process) -> str:
    """Returns the command line of a process, or "" if it has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _stored(out: Path) -> int:
    """Returns the number of grades in the store."""
    file = out / "results.sqlite"
    if not file.exists():
        return 0
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
        try:
            counted = "SELECT count(*) FROM submission WHERE finished"
            return int(database.execute(counted).fetchone()[0])
        except sqlite3.OperationalError:
            return 0
