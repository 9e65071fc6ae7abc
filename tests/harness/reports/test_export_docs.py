"""The commands of the instructors' guide do what it says."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.core.submission import Author
from tests.harness.export_fixtures import a_batch, scored

pytestmark = pytest.mark.process

GUIDE = Path(__file__).parents[3] / "docs" / "instructors.md"
COMMAND = re.compile(r"^    \.venv/bin/grader (export .+)$", re.MULTILINE)

GRADEBOOK = "Student,ID,Section,Attention (7)\n    Points Possible,,,10\nJane Doe,11,A,\n"
WORKSHEET = """\
Identifier,Full name,Status,Grade,Maximum grade,Grade can be changed,Last modified (submission),\
Last modified (grade),Feedback comments
Participant 11,Jane Doe,Submitted for grading,,10.00,Yes,-,-,
"""


def test_every_export_of_the_guide_runs_and_holds_the_points(
    grader: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """A reader who copies a command needs only files with the names in the guide."""
    a_batch(tmp_path / "results", scored("s", 4, 3.25), authors={"s": [Author("Jane Doe", "11")]})
    (tmp_path / "gradebook.csv").write_text(GRADEBOOK)
    (tmp_path / "worksheet.csv").write_text(WORKSHEET)
    section = GUIDE.read_text(encoding="utf-8").partition("## Back to the platform")[2]
    commands = COMMAND.findall(section.partition("\n## ")[0])
    assert {command.split()[3] for command in commands} == {
        "canvas",
        "moodle",
        "csv",
        "json",
        "junit",
    }
    for command in commands:
        done = grader(*shlex.split(command), cwd=tmp_path)
        assert done.returncode == 0, (command, done.stderr)
        written = tmp_path / command.split()[-1]
        assert "7.25" in written.read_text(encoding="utf-8"), command
        written.unlink()
