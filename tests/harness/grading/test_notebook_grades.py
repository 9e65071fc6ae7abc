"""Feedback on notebooks: places as cell and line, and notes on cells that raised."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from grader.core.verdict import Grade, GradeStatus, Status, Where
from grader.intake.entry import Entry
from grader.reports.single import print_grade
from grader.reports.standing import complaints
from tests.harness.grading_jobs import GradingJob

pytestmark = pytest.mark.process

HELPER = "from no_such_package import *\n\ndef twice(x):\n    return 2 * x\n"
DOUBLE = "# doubles\ndef run_double(x):\n    return twice(x)\n"
COUNT = "%matplotlib inline\nn = undefined_name\n\ndef run_count(x):\n    return x.numel()\n"


def notebook(*cells: str) -> str:
    document = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [{"cell_type": "code", "metadata": {}, "source": cell} for cell in cells],
    }
    return json.dumps(document)


def graded(judge: GradingJob, folder: Path, *cells: str) -> Grade:
    path = folder / "work.ipynb"
    path.write_text(notebook(*cells))
    return judge.grade(Entry("alice", path), "hash")


def printed_grade(grade: Grade) -> str:
    file = io.StringIO()
    print_grade(grade, Console(file=file, width=200))
    return file.getvalue()


def test_the_message_about_a_cell_that_raised_names_its_line(
    judge: GradingJob, tmp_path: Path
) -> None:
    """The cell may define an adapter, or a helper that an adapter calls later."""
    grade = graded(judge, tmp_path, HELPER, DOUBLE, COUNT)
    double = next(test for test in grade.tests if test.exercise == "run_double")
    count = next(test for test in grade.tests if test.exercise == "run_count")
    assert (double.status, count.status) == (Status.ERROR, Status.ERROR)
    assert double.where == Where("work.ipynb/cell 2", 3)
    assert (double.message or "").startswith(
        "NameError: name 'twice' is not defined (work.ipynb/cell 2:3)\n    return twice(x)\n"
    )
    assert count.where == Where("work.ipynb/cell 3", 2)
    assert (count.message or "").startswith(
        "NameError: cell 3 raised NameError: name 'undefined_name' is not defined, so run_count is "
        "not defined (work.ipynb/cell 3:2)\n    n = undefined_name\n"
    )
    assert grade.notes == (
        "A cell of the notebook raised ModuleNotFoundError: No module named 'no_such_package' "
        "(work.ipynb/cell 1:1: from no_such_package import *).",
        "A cell of the notebook raised NameError: name 'undefined_name' is not defined "
        "(work.ipynb/cell 3:2: n = undefined_name).",
    )
    assert grade.notes[0] in printed_grade(grade)
    assert "No module named 'no_such_package'" in complaints(grade)


def test_magics_and_commands_that_are_not_run_are_noted(judge: GradingJob, tmp_path: Path) -> None:
    """Each is noted once with its cell, and again at an adapter that is missing."""
    cells = ("%matplotlib inline\n!cp ../core.py .\n", "def run_count(x): return x.numel()")
    grade = graded(judge, tmp_path, *cells)
    assert grade.notes == ("Not run while it is graded: !cp ../core.py . (work.ipynb/cell 1).",)
    assert {test.message for test in grade.tests if test.status is Status.MISSING} == {
        "run_double is not implemented yet\n"
        "Not run while it is graded: !cp ../core.py . (work.ipynb/cell 1)."
    }


def test_a_notebook_that_runs_as_it_is_has_no_notes(judge: GradingJob, tmp_path: Path) -> None:
    """Magics that the grader runs are not noted."""
    cells = ("%time n = 1\n%env A=1\n", "def run_count(x): return x.numel()")
    grade = graded(judge, tmp_path, *cells)
    assert grade.notes == ()
    assert complaints(grade) == "run_double is not implemented yet"


def test_a_program_reads_its_notebook(judge: GradingJob, tmp_path: Path) -> None:
    """A notebook that is only read stays the file that it is."""
    reading = "for cell in json.loads(open('work.ipynb').read())['cells']:\n"
    (tmp_path / "adapters.py").write_text(f"import json\n{reading}    exec(cell['source'])\n")
    (tmp_path / "work.ipynb").write_text(notebook("def run_count(x): return x.numel()"))
    grade = judge.grade(Entry("alice", tmp_path), "hash")
    assert all(test.score for test in grade.tests if test.exercise == "run_count")


def test_only_the_endless_cell_of_a_notebook_is_stopped(judge: GradingJob, tmp_path: Path) -> None:
    """The other cells are graded, and a note names the endless one."""
    cells = ("def run_count(x): return x.numel()", "while True: pass", "late = 1", HELPER)
    grade = graded(judge, tmp_path, *cells)
    assert grade.status is GradeStatus.GRADED
    assert all(test.score for test in grade.tests if test.exercise == "run_count")
    assert grade.notes[0].startswith("A cell of the notebook raised TookTooLong: it took longer")
    assert "(work.ipynb/cell 2:1: while True: pass)" in grade.notes[0]


def test_forged_errors_of_cells_are_bounded(judge: GradingJob, tmp_path: Path) -> None:
    """The submission can forge its list of errors, so their number and length are limited."""
    lie = (
        "class Odd(Exception):\n    def __str__(self):\n        raise SystemExit('\\x1b[31m')\n"
        "get_ipython()._cells.failed.update({n: Odd() if n % 2 else ValueError('x' * 10**5, n)"
        " for n in range(1000)})\n"
        "def run_count(x): return x.numel()\n"
    )
    grade = graded(judge, tmp_path, lie)
    assert len(grade.notes) == 20
    assert max(map(len, grade.notes)) < 5000
    assert "\x1b" not in "".join(grade.notes)


def test_notes_about_a_submitted_folder_are_in_its_grade(judge: GradingJob, tmp_path: Path) -> None:
    """A file that was left out may be the reason why another file could not be opened."""
    folder = tmp_path / "alice"
    folder.mkdir()
    (folder / "weights.bin").write_bytes(bytes(9 << 20))
    (folder / "adapters.py").write_text("open('weights.bin')\n")
    grade = judge.grade(Entry("alice", folder), "hash")
    assert grade.notes == ("Left out (larger than 8 MB): weights.bin (9 MB).",)
    assert grade.notes[0] in printed_grade(grade)
