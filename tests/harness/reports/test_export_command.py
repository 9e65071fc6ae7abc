"""`grader export` as an instructor meets it: files, exit codes, one sentence for each refusal."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from grader.core.submission import Author
from tests.harness.export_fixtures import a_batch, not_graded, scored

pytestmark = pytest.mark.process

Command = Callable[..., subprocess.CompletedProcess[str]]

GRADEBOOK = """\
Student,ID,SIS Login ID,Section,Attention (7)
    Points Possible,,,,10
"Müller, Zoë",1,zoe,A,
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the results of a batch, a gradebook and a file that is in the way."""
    a_batch(tmp_path, scored("zoe", 4, 3.5), authors={"zoe": [Author("Zoë Müller")]})
    (tmp_path / "gradebook.csv").write_text(GRADEBOOK, encoding="utf-8")
    (tmp_path / "upload.csv").write_text("earlier")
    return tmp_path


def test_a_canvas_gradebook_is_filled_into_another_file(grader: Command, folder: Path) -> None:
    """The instructor's own file stays; standard error says what was done."""
    given = ("--template", "gradebook.csv", "--out", "upload.csv")
    done = grader("export", ".", "--format", "canvas", *given, cwd=folder)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "filled 'Attention (7)' in 1 of 1 rows\n"
    filled_in = GRADEBOOK.replace("zoe,A,", "zoe,A,7.5")
    assert (folder / "upload.csv").read_bytes() == filled_in.encode("utf-8")
    assert (folder / "gradebook.csv").read_bytes() == GRADEBOOK.encode("utf-8")
    assert not [*folder.glob(".*")]


def test_standard_output_holds_only_the_export(grader: Command, folder: Path) -> None:
    """`--out -` and no `--out` give the same whole document, in each format."""
    done = grader("export", ".", "--format", "csv", "--points", "total", cwd=folder)
    header, _, row = csv.reader(io.StringIO(done.stdout))
    assert (header[7], row[1], row[7], done.stderr) == ("total", "Zoë Müller", "7.5", "")
    done = grader("export", ".", "--format", "json", "--out", "-", cwd=folder)
    assert json.loads(done.stdout)["submissions"][0]["score"] == 7.5
    done = grader("export", ".", "--format", "junit", cwd=folder)
    assert ET.fromstring(done.stdout).attrib == {"name": "Attention"}


def test_an_export_through_a_link_or_into_a_pipe_replaces_neither(
    grader: Command, folder: Path
) -> None:
    """`/dev/stdout` is a link to a pipe, and a rename would make it a file."""
    link, pipe = folder / "link.csv", folder / "pipe"
    (folder / "grades.csv").write_text("old")
    link.symlink_to(folder / "grades.csv")
    os.mkfifo(pipe)
    assert grader("export", folder, "--format", "csv", "--out", link).returncode == 0
    assert link.is_symlink()
    assert (folder / "grades.csv").read_text().startswith('"submission",')
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        assert grader("export", folder, "--format", "csv", "--out", pipe).returncode == 0
        assert reader.stdout is not None
        assert reader.stdout.read().startswith(b'"submission",')
    assert pipe.is_fifo()


def test_an_export_keeps_the_permissions_of_the_file_that_it_replaces(
    grader: Command, folder: Path
) -> None:
    """Nobody else on the machine reads the grades because they were exported again."""
    file = folder / "grades.csv"
    file.write_text("old")
    file.chmod(0o600)
    assert grader("export", folder, "--format", "csv", "--out", file).returncode == 0
    assert (file.stat().st_mode & 0o777, file.read_text()[:5]) == (0o600, '"subm')


def test_missing_points_make_export_exit_with_1(grader: Command, tmp_path: Path) -> None:
    """A script that uploads next stops here. The export still has the other students' points."""
    a_batch(tmp_path, not_graded("lara"), scored("bob", 4, 6))
    done = grader("export", tmp_path, "--format", "csv")
    assert done.returncode == 1
    assert '"bob","bob","","","graded","no",10,10' in done.stdout
    assert done.stderr.startswith("not graded, by no fault of the submissions")
    assert "\n  lara: the judge was lost twice\n" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--format moodle", "Moodle takes no file but its own: download the assignment's grading"),
        ("--format csv --template gradebook.csv", "--template is for --format canvas and moodle"),
        (
            "--format canvas --template gradebook.csv --out ./gradebook.csv",
            "gradebook.csv is the template itself: name another --out",
        ),
        ("--format csv --out /dev/full", "/dev/full cannot be written (No space left on device)"),
        ("--format csv --out results.sqlite", "belongs to a batch's results: name another file"),
        ("--format csv --out ./decisions.toml", "belongs to a batch's results"),
        ("--format csv --out mistakes.toml", "belongs to a batch's results"),
        ("--format csv --out link.csv", "link.csv belongs to a batch's results"),
    ],
)
def test_a_refused_export_is_one_sentence_and_changes_no_file(
    grader: Command, folder: Path, arguments: str, words: str
) -> None:
    """The exit code is 2, nothing is written, and an earlier export remains."""
    (folder / "decisions.toml").write_text("# by hand")
    (folder / "link.csv").symlink_to("decisions.toml")
    before = {file: file.read_bytes() for file in folder.iterdir()}
    done = grader("export", ".", *arguments.split(), cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("grader: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert {file: file.read_bytes() for file in folder.iterdir()} == before


def test_export_refuses_a_folder_without_results(grader: Command, tmp_path: Path) -> None:
    """The folder is the one that `grader batch --out` named."""
    done = grader("export", tmp_path, "--format", "csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert "holds no results.sqlite: name the folder that `grader batch --out` wrote" in done.stderr
