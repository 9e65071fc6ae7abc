"""Commands in a student's folder: neither its modules nor its own tests are trusted."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import grader as package
from grader.core.assignment import BadAssignment
from grader.reports.export.scores import write_whole
from tests.harness.conftest import ROOT, TINY, write_files

SHADOWING = ("torch", "click", "rich", "yaml", "numpy", "pytest", "dataclasses", "json", "tests")
WRONG = "def run_double(x):\n    return 3 * x\n\n\ndef run_count(x):\n    return x.numel()\n"


@pytest.fixture
def students(tmp_path: Path) -> Path:
    """A folder whose modules take the names of those that the grader loads, and leave a mark."""
    mark = tmp_path / "mark"
    imports = (
        f"import pathlib\npathlib.Path({str(mark)!r}).write_text(__name__)\nraise ImportError\n"
    )
    modules = {f"{name}.py": imports for name in SHADOWING}
    return write_files(tmp_path / "alice", {"adapters.py": WRONG} | modules)


@pytest.mark.process
@pytest.mark.parametrize("path", ["", f"{ROOT}{os.pathsep}", f".{os.pathsep}{ROOT}"])
def test_no_module_of_the_current_folder_is_loaded(students, tiny, tmp_path, path):
    """Neither in the command nor in the processes that hold the hidden tests."""
    command = "import sys; from grader.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "run", ".", "--assignment", tiny, "--no-explain"],
        cwd=students,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "alice: 1 of 5 points" in done.stdout
    assert not (tmp_path / "mark").exists()


@pytest.mark.process
def test_a_submission_that_holds_the_tests_is_graded_only_if_they_are_named(grader, tmp_path):
    """A student's own tests would give any points, and run as trusted code."""
    own = write_files(tmp_path / "own", TINY | {"adapters.py": WRONG})
    for command in (["run", "."], ["batch", tmp_path, "--out", tmp_path / "results"]):
        done = grader(*command, cwd=own)
        assert done.returncode == 2
        assert "holds the tests that would grade it" in done.stderr
        assert "name the course's assignment with --assignment FOLDER" in done.stderr
    assert grader("run", ".", "--assignment", ".", cwd=own).returncode == 0


@pytest.mark.unit
def test_a_program_must_name_such_an_assignment_as_well(tmp_path, monkeypatch):
    monkeypatch.chdir(write_files(tmp_path / "own", TINY | {"adapters.py": WRONG}))
    with pytest.raises(BadAssignment, match="holds the tests that would grade it"):
        package.grade(".")
    with pytest.raises(BadAssignment, match="holds the tests that would grade it"):
        package.batch("..", tmp_path / "results")


@pytest.mark.unit
def test_a_file_is_written_through_no_link_and_keeps_no_special_mode(tmp_path):
    """The folder's owner may have laid links, and files of any mode."""
    precious = tmp_path / "precious"
    precious.write_text("precious")
    report = tmp_path / "report.xml"
    report.touch()
    report.chmod(0o4755)
    (tmp_path / ".report.xml.partial").symlink_to(precious)
    write_whole(report, "<xml/>")
    assert precious.read_text() == "precious"
    assert report.read_text() == "<xml/>"
    assert stat.S_IMODE(report.stat().st_mode) == 0o755
