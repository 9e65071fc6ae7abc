"""`grader batch` over the downloads of course platforms, run as an instructor runs it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from grader.core.submission import Author
from grader.results.store import Store

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
RIGHT = "def run_double(x):\n    return 2 * x\n\ndef run_count(x):\n    return x.numel()\n"
ROSTER = """\
Student,ID,SIS Login ID,Section
    Points Possible,,,
"Doe, Jane",123,jdoe,A
"Roe, John",124,jroe,A
"Poe, Ann",125,apoe,B
"""


def a_download(folder: Path) -> Path:
    notebook = {"cells": [{"cell_type": "code", "source": RIGHT}], "metadata": {}, "nbformat": 4}
    path = folder / "submissions.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("doejane_123_4567_adapters.py", "raise SystemExit\n")
        archive.writestr("doejane_123_4601_adapters-1.py", "from work import *\n")
        archive.writestr("doejane_123_4602_work-1.py", RIGHT)
        archive.writestr("roejohn_LATE_124_4568_work.ipynb", json.dumps(notebook))
        archive.writestr("guest_7_4569_adapters.py", "def run_count(x):\n    return x.numel()\n")
        archive.writestr("evil_8_4570_..", RIGHT)
    return path


def scores(out: Path) -> dict[str, float]:
    lines = (out / "results.jsonl").read_text().splitlines()
    return {row["submission"]: row["score"] for row in map(json.loads, lines)}


def test_one_command_grades_a_canvas_download_with_a_roster(
    grader: Any, tiny: Path, tmp_path: Path
) -> None:
    """The zip is graded as downloaded; late, absent, unknown and resubmitted work is reported."""
    download = a_download(tmp_path)
    (tmp_path / "students.csv").write_text(ROSTER, encoding="utf-8-sig")
    out = tmp_path / "out"
    command = ("batch", download, "--roster", tmp_path / "students.csv", "--out", out)
    done = grader(*command, cwd=tiny)
    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()
    assert "Canvas download, 4 submissions, 1 late, 1 resubmitted: latest taken" in said
    assert (
        "skipped 'doejane_123_4567_adapters.py': handed in again: the latest of doejane_123 counts"
        in said
    )
    assert "roster: 2 of 3 people handed in" in said
    assert "handed in nothing: Poe, Ann" in said
    assert "by nobody on the roster: evil_8, guest_7" in said
    assert scores(out) == {"doejane_123": 5.0, "evil_8": 0.0, "guest_7": 1.0, "roejohn_124": 5.0}
    results = Store.read(out)
    assert results.people.authors["doejane_123"] == (Author("Doe, Jane", "123"),)
    assert results.people.late == {"roejohn_124"}
    assert results.people.absentees == (Author("Poe, Ann", "125"),)
    again = grader(*command, cwd=tiny)
    assert "4 graded before and unchanged; 0 to grade" in again.stderr


def test_a_group_is_one_row_that_names_its_members(grader: Any, tiny: Path, tmp_path: Path) -> None:
    """Gradescope's submission number alone tells an instructor nothing."""
    folder = tmp_path / "assignment_1_export"
    (folder / "submission_101").mkdir(parents=True)
    (folder / "submission_101/adapters.py").write_text(RIGHT)
    (folder / "submission_metadata.yml").write_text(
        "submission_101:\n  :submitters:\n  - :name: Jane [bold]Doe\n  - :name: John Roe\n"
    )
    done = grader("batch", folder, "--out", tmp_path / "out", "--details", cwd=tiny)
    assert done.returncode == 0, done.stderr
    assert "Jane [bold]Doe, John Roe" in done.stdout
    assert "(submission_101)" in done.stdout
    assert "Gradescope export of 2 people, 1 submission" in done.stderr


def test_a_bad_roster_stops_the_command_before_anything_is_graded(
    grader: Any, tiny: Path, tmp_path: Path
) -> None:
    """The command prints one sentence, exits with code 2, and creates no results folder."""
    (tmp_path / "students.csv").write_text("colour\nred\n")
    command = ("batch", a_download(tmp_path), "--out", tmp_path / "out", "--roster")
    for roster, reason in (
        ("students.csv", "no column for names"),
        ("none.csv", "none.csv cannot be read: No such file"),
    ):
        done = grader(*command, tmp_path / roster, cwd=tiny)
        assert done.returncode == 2
        assert reason in done.stderr
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_commands_of_the_instructors_page_run(grader: Any, tiny: Path, tmp_path: Path) -> None:
    """Each command of docs/instructors.md succeeds as it is printed there."""
    course = shutil.copytree(tiny, tmp_path / "course")
    a_download(course)
    (course / "students.csv").write_text(ROSTER)
    (course / "submissions/alice").mkdir(parents=True)
    (course / "submissions/alice/adapters.py").write_text(RIGHT)
    page = (ROOT / "docs/instructors.md").read_text(encoding="utf-8")
    page, _, _ = page.partition("## After grading")
    commands = re.findall(r"^    \.venv/bin/grader (.+)$", page, re.MULTILINE)
    assert commands
    for command in commands:
        done = grader(*shlex.split(command, comments=True), cwd=course)
        assert done.returncode == 0, (command, done.stderr)
