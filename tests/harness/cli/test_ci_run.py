"""`grader run` for programs: its formats, their files and its exit codes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.harness.conftest import ROOT, write_files
from tests.harness.waiting import until

pytestmark = pytest.mark.process

HALF = "def run_double(x):\n    return 2 * x\n"


@pytest.fixture
def half(tmp_path: Path) -> Path:
    """A submission with four of five points."""
    return write_files(tmp_path / "half", {"adapters.py": HALF})


@pytest.fixture(scope="module")
def outputs(grader, tiny, tmp_path_factory) -> Path:
    """The folder of that submission's outputs, one in each format; it did not exist before.

    One of them reaches its `--fail-under` exactly, and the others just miss it.
    """
    folder = tmp_path_factory.mktemp("formats")
    submission = write_files(folder / "half", {"adapters.py": HALF})
    metadata = folder / "metadata.json"
    metadata.write_text('{"assignment": {"total_points": "50.0"}}')
    out = folder / "made" / "for it"
    for form in ("text", "json", "gradescope", "junit", "prairielearn"):
        bar = 80 if form == "json" else 81
        options = ["--metadata", metadata] if form == "gradescope" else []
        options += ["--format", form, "--out", out / form, "--fail-under", bar]
        done = grader("run", submission, *options, cwd=tiny)
        assert (done.returncode, done.stdout) == (int(bar > 80), ""), form
    return out


def test_a_score_below_the_bar_exits_with_one(grader, tiny, half, outputs):
    """Reaching the bar exactly is enough. The grade is printed in any case."""
    assert "half: 4 of 5 points" in (outputs / "text").read_text()
    done = grader("run", half, "--fail-under", 81, cwd=tiny)
    assert done.returncode == 1
    assert "half: 4 of 5 points" in done.stdout


def test_pytest_options_in_the_environment_change_nothing(grader, tiny, half, monkeypatch):
    """A runner often sets them for all of its steps."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-v --maxfail=1 -k counts")
    monkeypatch.setenv("PYTEST_PLUGINS", "not_installed")
    done = grader("run", half, cwd=tiny)
    assert done.returncode == 0
    seed = r"inputs were drawn with seed (\d+); --seed \1 draws them again\n"
    assert re.fullmatch(rf"{seed}(isolation: .*\n)?", done.stderr)
    assert "half: 4 of 5 points" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["--fail-under", "101"],
        ["--format", "html"],
        ["--exercise", "run_nothing"],
    ],
)
def test_a_wrong_argument_exits_with_two(grader, tiny, half, arguments):
    """A script can tell a wrong argument from a grade."""
    assert grader("run", half, *arguments, cwd=tiny).returncode == 2


def test_an_unreadable_submission_gets_no_points(grader, tiny, tmp_path):
    """The submission caused it, and the command did its work."""
    empty = tmp_path / "empty"
    empty.mkdir()
    assert grader("run", empty, cwd=tiny).returncode == 0
    assert grader("run", empty, "--fail-under", 1, cwd=tiny).returncode == 1


@pytest.fixture
def broken(tiny, tmp_path) -> Path:
    """An assignment with a wrong test, which makes every submission ungradable."""
    course = Path(shutil.copytree(tiny, tmp_path / "course"))
    wrong = "\n@exercise('run_count')\ndef test_wrong(student, draw):\n    student(draw(1)) / 0\n"
    with (course / "tests" / "hidden" / "test_tiny.py").open("a") as tests:
        tests.write(wrong)
    return course


def test_an_ungraded_submission_exits_with_one(grader, broken, tmp_path):
    """No platform may take the grader's fault for a grade."""
    right = write_files(
        tmp_path / "right", {"adapters.py": HALF + "\ndef run_count(x):\n    return x.numel()\n"}
    )
    output = tmp_path / "results.json"
    done = grader("run", right, "--format", "gradescope", "--out", output, cwd=broken)
    assert done.returncode == 1
    found = json.loads(output.read_text())
    assert "NOT GRADED" in found["output"]
    assert found["extra_data"]["status"] == "not_graded"


def test_each_format_is_written_to_a_complete_file(outputs):
    """Missing folders are made, and no other file is left beside the output."""
    assert sorted(file.name for file in outputs.iterdir()) == [
        "gradescope", "json", "junit", "prairielearn", "text",
    ]  # fmt: skip
    assert "half: 4 of 5 points" in (outputs / "text").read_text()
    assert json.loads((outputs / "json").read_text())["score"] == 4.0
    assert json.loads((outputs / "prairielearn").read_text())["score"] == 0.8
    suite = ET.parse(outputs / "junit").getroot().find("testsuite")
    assert suite.attrib["name"] == "half"


@pytest.mark.parametrize("form", ["text", "gradescope"])
def test_an_unwritable_output_file_is_reported_in_one_sentence(grader, tiny, half, tmp_path, form):
    """The sentence says the file, the reason and the remedy, without a traceback."""
    (tmp_path / "file").write_text("")
    output = tmp_path / "file" / "results"
    done = grader("run", half, "--format", form, "--out", output, cwd=tiny)
    assert done.returncode == 2
    (said,) = done.stderr.splitlines()
    assert said.startswith(f"grader: {output} cannot be written (")


def test_intermediate_results_are_written_before_and_between_tests(tiny, tmp_path):
    """If the process is killed, the file has the points so far and says that it is not a grade."""
    endless = HALF + "\ndef run_count(x):\n    while True: pass\n"
    submission = write_files(tmp_path / "endless", {"adapters.py": endless})
    output = tmp_path / "results.json"
    command = [sys.executable, "-m", "grader", "run", str(submission), "--assignment", str(tiny)]
    command += ["--format", "gradescope", "--out", str(output)]
    process = subprocess.Popen(command, cwd=ROOT)
    seen = []

    def has_points() -> bool:
        assert process.poll() is None
        seen.extend([json.loads(output.read_text())] if output.exists() else [])
        return bool(seen) and seen[-1]["score"] == 4.0

    until(has_points, "the points of the first exercise are written", pause=0.02)
    process.kill()
    process.wait()
    last = json.loads(output.read_text())
    assert "cut off before it ended" in last["output"]
    assert last["tests"] == []


def test_a_broken_assignment_is_not_reported_as_a_zero(grader, tiny, tmp_path):
    """The instructor reads the reason. The student reads only that it is not their fault."""
    course = Path(shutil.copytree(tiny, tmp_path / "course"))
    (course / "tests" / "hidden" / "test_secret_name.py").write_text("import nothing_like_it\n")
    output = tmp_path / "results.json"
    submission = write_files(tmp_path / "half", {"adapters.py": HALF})
    done = grader("run", submission, "--format", "gradescope", "--out", output, cwd=course)
    assert done.returncode == 2
    assert "test_secret_name.py cannot be collected" in done.stderr
    found = json.loads(output.read_text())
    assert "NOT GRADED" in found["output"]
    assert "secret" not in output.read_text()


def test_points_are_scaled_to_the_total_in_gradescopes_metadata(
    grader, tiny, half, outputs, tmp_path
):
    """Metadata without a total are reported, and the grade stays as it is."""
    assert json.loads((outputs / "gradescope").read_text())["score"] == 40.0
    metadata, output = tmp_path / "metadata.json", tmp_path / "results.json"
    metadata.write_bytes(b"\xff")
    command = ("run", half, "--format", "gradescope", "--out", output, "--metadata", metadata)
    done = grader(*command, cwd=tiny)
    assert done.returncode == 0
    assert "tells no total_points" in done.stderr
    assert json.loads(output.read_text())["score"] == 4.0


def test_the_command_process_loads_no_torch():
    """A container of 768 MB has no room for a third process with torch."""
    script = "import grader.cli, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
