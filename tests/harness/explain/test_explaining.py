"""Explanations follow the verdicts: a late, dead or deceived explainer changes no grade."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from grader.core.assignment import Settings
from grader.core.explanation import PENDING, Words
from grader.core.verdict import Grade, GradeStatus, Status
from grader.grading.job.client import JobClient
from grader.grading.options import Task
from grader.intake.entry import Entry
from tests.harness.conftest import write_files
from tests.harness.waiting import PATIENCE

pytestmark = pytest.mark.process

TRIPLED = "def run_double(x):\n    return 3 * x\n\n\ndef run_count(x):\n    return x.numel()\n"
RAISES = "def run_double(x):\n    return x.nothing\n"
CLASS = {
    "alice": TRIPLED.replace("3", "2"),
    "bob": TRIPLED,
    "carol": RAISES,
    "dave": "def run_double(x:\n",
    "erin": TRIPLED.replace("3 * x", "4 * x"),
}


def write_class(folder: Path) -> Path:
    """Writes a small class, most of it wrong."""
    for name, text in CLASS.items():
        write_files(folder / "class" / name, {"adapters.py": text})
    return folder / "class"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A class that a test may change."""
    return write_class(tmp_path)


@dataclass(frozen=True)
class Unexplained:
    """A class and its results, graded without explanations."""

    folder: Path
    out: Path
    printed: str


@pytest.fixture(scope="module")
def unexplained(grader, tiny, tmp_path_factory) -> Unexplained:
    """A class that is graded once; a test that adds explanations copies the results first."""
    place = tmp_path_factory.mktemp("plainly")
    folder, out = write_class(place), place / "out"
    done = grader("batch", folder, "--out", out, "--seed", 3, "--no-explain", cwd=tiny)
    assert done.returncode == 0, done.stderr
    return Unexplained(folder, out, done.stdout)


def rows(out: Path) -> dict[str, dict[str, Any]]:
    """Returns the rows of `results.jsonl` by submission."""
    lines = (out / "results.jsonl").read_text().splitlines()
    return {row["submission"]: row for row in map(json.loads, lines)}


def outcomes(out: Path) -> dict[str, Any]:
    """Returns the statuses and scores, which must never change."""
    return {
        name: (
            row["status"],
            row["score"],
            [(t["id"], t["status"], t["score"]) for t in row["tests"]],
        )
        for name, row in rows(out).items()
    }


def explanations_in(out: Path) -> dict[str, Any]:
    """Returns the explainer's words about each submission, without durations."""
    return {
        name: (
            row["unexplained"],
            row["message"],
            [(t["message"], t["diagnosis"], t["where"], t["max_abs_error"]) for t in row["tests"]],
        )
        for name, row in rows(out).items()
    }


@pytest.mark.slow
def test_explanations_added_later_equal_those_of_one_batch(grader, tiny, unexplained, tmp_path):
    """`--no-explain` and a later `grader explain` give the same words as one batch."""
    once, later = tmp_path / "once", Path(shutil.copytree(unexplained.out, tmp_path / "later"))
    done = grader("batch", unexplained.folder, "--out", once, "--seed", 3, cwd=tiny)
    assert done.returncode == 0
    assert f"grader explain {unexplained.out}" in unexplained.printed
    assert outcomes(later) == outcomes(once)
    assert {row["unexplained"] for row in rows(later).values()} == {None, PENDING}
    assert not any(t["diagnosis"] for row in rows(later).values() for t in row["tests"])

    explained = grader("explain", later, "--jobs", 1, cwd=tiny)
    assert explained.returncode == 0, explained.stderr
    assert "4 submissions explained, 0 with an incomplete explanation" in explained.stdout
    assert explanations_in(later) == explanations_in(once)
    assert outcomes(later) == outcomes(once)
    assert {row["unexplained"] for row in rows(later).values()} == {None}
    assert rows(later)["bob"]["tests"][0]["diagnosis"]["mistake"] == "tripled"

    again = grader("explain", later, cwd=tiny)
    assert "0 submissions explained" in again.stdout


def test_a_submission_that_changed_since_it_was_graded_is_not_explained(
    grader, tiny, folder, tmp_path
):
    """An explanation of lines that were not graded would mislead."""
    out = tmp_path / "out"
    grader("batch", folder, "--out", out, "--seed", 3, "--no-explain", cwd=tiny)
    (folder / "bob" / "adapters.py").write_text(TRIPLED.replace("3", "4"))
    shutil.rmtree(folder / "carol")
    explained = grader("explain", out, cwd=tiny)
    assert "bob, carol" in explained.stderr
    found = rows(out)
    for name in ("bob", "carol"):
        assert "changed or taken away" in found[name]["unexplained"]
    assert found["erin"]["unexplained"] is None


def test_a_resumed_batch_adds_pending_explanations(grader, tiny, unexplained, tmp_path):
    """No submission is graded again for this."""
    out = Path(shutil.copytree(unexplained.out, tmp_path / "out"))
    before = outcomes(out)
    again = grader("batch", unexplained.folder, "--out", out, cwd=tiny)
    assert "5 graded before and unchanged; 0 to grade" in again.stderr
    assert outcomes(out) == before
    assert {row["unexplained"] for row in rows(out).values()} == {None}


@pytest.mark.slow
def test_killing_explainers_again_and_again_changes_no_grade(tiny, unexplained, tmp_path):
    """The grade stands after each `kill -9` and says which explanation is missing."""
    killed = tmp_path / "killed"
    ended = run_batch(tiny, unexplained.folder, killed, disturb=kill_explainers)
    assert ended == 0
    assert outcomes(killed) == outcomes(unexplained.out)
    missing = [row["unexplained"] for row in rows(killed).values() if row["unexplained"]]
    assert missing
    assert any("SIGKILL" in why for why in missing), missing


def run_batch(
    assignment: Path, folder: Path, out: Path, disturb: Callable[[Path, int], None] | None = None
) -> int:
    """Returns the exit code of `grader batch`, while a thread disturbs the batch."""
    command = ["batch", str(folder), "--out", str(out), "--seed", "3", "--jobs", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", *command],
        cwd=assignment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
    )
    if disturb is not None:
        thread = threading.Thread(target=disturb, args=(out, process.pid))
        thread.start()
        process.wait(PATIENCE)
        thread.join(PATIENCE)
    return process.wait(PATIENCE)


def kill_explainers(out: Path, batch: int) -> None:
    """Waits until all grades are written, then keeps killing the jobs' child processes."""
    while psutil.pid_exists(batch) and not (out / "results.jsonl").exists():
        time.sleep(0.005)
    while psutil.pid_exists(batch) and psutil.Process(batch).status() != psutil.STATUS_ZOMBIE:
        try:
            for collector in psutil.Process(batch).children():
                for child in [one for job in collector.children() for one in job.children()]:
                    if "grader.grading.job.process" in child.cmdline():
                        child.send_signal(signal.SIGKILL)
        except psutil.Error:
            continue
        time.sleep(0.02)


@pytest.fixture
def slow(tiny: Path, tmp_path: Path) -> Path:
    """The tiny assignment with one known mistake that takes an hour."""
    assignment = Path(shutil.copytree(tiny, tmp_path / "slow"))
    mistakes = assignment / "solutions" / "mistakes.py"
    slowly = "import time\n\ndef slowly(x):\n    time.sleep(3600)\n    return x\n\n"
    text = mistakes.read_text().replace("(lambda x: x + 2,)", "(slowly,)")
    assert "slowly" in text
    mistakes.write_text(slowly + text)
    return assignment


def graded_and_explained(assignment: Path, folder: Path, **chosen: Any) -> tuple[Grade, Words]:
    settings = Settings(str(assignment), 3, (), "adapters.py", 8.0, 512, "suite", **chosen)
    client = JobClient(settings)
    try:
        entry = Entry("bob", folder)
        grade = client.grade(Task(entry, 0, "hash", ""))
        return grade, client.explain(entry, grade)
    finally:
        client.close()


def test_a_late_explainer_is_stopped_and_its_finished_explanations_are_kept(slow, folder):
    """The limit is enforced from outside, so the explainer need not check a clock."""
    grade, words = graded_and_explained(slow, folder / "bob", explain_seconds=3.0)
    assert words.missing == "the explainer took longer than 9 seconds and was stopped"
    failed = [test for test in grade.tests if test.status is Status.FAILED]
    assert failed
    assert words.tests.keys() >= {test.id for test in failed}
    assert "values in the result are wrong" in words.tests[failed[0].id].message


def test_a_judge_quotes_no_text_of_an_exception(tiny, folder):
    """The text could contain the drawn inputs."""
    client = JobClient(Settings(str(tiny), 3, (), "adapters.py", 8.0, 512, "suite"))
    text = "def run_double(x):\n    raise ValueError(str(x.tolist()))\n"
    (folder / "bob" / "adapters.py").write_text(text)
    try:
        grade = client.grade(Task(Entry("bob", folder / "bob"), 0, "hash", ""))
    finally:
        client.close()
    told = {test.message for test in grade.tests if test.exercise == "run_double"}
    assert told == {"run_double raised ValueError"}
    assert all(test.measurement is None for test in grade.tests)


def test_an_answer_that_makes_a_test_raise_is_a_failure(tiny, folder, tmp_path):
    """The same test runs through with the reference's answer, so the grader is not at fault."""
    assignment = Path(shutil.copytree(tiny, tmp_path / "fragile"))
    (assignment / "tests" / "hidden" / "test_fragile.py").write_text(
        "from grader.testing import exercise\n\n"
        "@exercise('run_count')\n"
        "def test_counts_in_a_table(student, reference, draw):\n"
        "    '''The count is one of a few.'''\n"
        "    x = draw(3)\n"
        "    {3: 'right', 4: 'wrong'}[student(x)]\n"
    )
    text = "def run_double(x):\n    return 2 * x\n\n\ndef run_count(x):\n    return 10**6\n"
    (folder / "bob" / "adapters.py").write_text(text)
    grade, words = graded_and_explained(assignment, folder / "bob")
    (verdict,) = [test for test in grade.tests if "counts_in_a_table" in test.id]
    assert grade.status is GradeStatus.GRADED
    assert verdict.status is Status.FAILED
    assert "the expected one (KeyError)" in words.tests[verdict.id].message


DECEIVED = """
import json, os, sys
sys.stdin.readline()
print(json.dumps({"collected": {"max_score": 5.0}}), flush=True)
sys.stdin.readline()
print(json.dumps({"ready": {"pid": os.getpid()}}), flush=True)
sys.stdin.readline()
print(json.dumps({"words": {"tests": {"a test": 3}, "message": None}}), flush=True)
sys.stdin.readline()
"""


def test_a_malformed_explanation_is_dropped(tiny, folder, monkeypatch):
    monkeypatch.setattr(JobClient, "command", (sys.executable, "-c", DECEIVED))
    client = JobClient(Settings(str(tiny), 3, (), "adapters.py", 8.0, 512, "suite"))
    grade = Grade("bob", GradeStatus.GRADED, 1.0, 5.0, 3, "hash", "suite", 0.1, None, {}, ())
    words = client.explain(Entry("bob", folder / "bob"), grade)
    client.close()
    assert words.missing == "the explanation is damaged (KeyError)"
    assert not words.tests
