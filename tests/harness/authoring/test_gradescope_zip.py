"""The autograder's zip in a copy of Gradescope's folders, with this virtual environment."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from grader.authoring.gradescope_zip import Autograder, autograder_zip
from grader.core.assignment import BadAssignment, find_assignment
from grader.grading.options import Options
from grader.reports.export.gradescope import Display, VisibleWhen
from tests.harness.conftest import RIGHT, ROOT, write_files
from tests.harness.waiting import PATIENCE, until

pytestmark = pytest.mark.process

CONTAINER_MB = 768
METADATA = {
    "id": 123456,
    "created_at": "2026-03-01T12:00:00.000000-08:00",
    "assignment": {
        "due_date": "2026-03-02T12:00:00.000000-08:00", "group_size": 2, "group_submission": True,
        "id": 25828, "course_id": 8222, "late_due_date": None,
        "release_date": "2026-02-01T00:00:00.000000-08:00", "title": "Attention",
        "total_points": "50.0",
    },
    "submission_method": "upload",
    "users": [{"email": "student@example.edu", "id": 1234, "name": "Ada Student"}],
    "previous_submissions": [],
}  # fmt: skip


class Container:
    """Gradescope's folders under another root."""

    def __init__(self, root: Path, packed: Path) -> None:
        self.root = root
        for folder in ("source", "submission", "results"):
            (root / folder).mkdir(parents=True)
        subprocess.run(["unzip", "-q", packed, "-d", root / "source"], check=True)
        shutil.copy(root / "source" / "run_autograder", root / "run_autograder")
        (root / "submission_metadata.json").write_text(json.dumps(METADATA))

    def start(self, environment: Mapping[str, str] = {}) -> subprocess.Popen[bytes]:
        """Runs the autograder as Gradescope does, with this environment's Python."""
        own = {"AUTOGRADER_ROOT": str(self.root), "GRADER_PYTHON": sys.executable}
        without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.Popen(
            [self.root / "run_autograder"],
            cwd=self.root,
            env=without | own | environment,
            start_new_session=True,
        )

    def results(self) -> dict[str, Any]:
        """Returns the results that Gradescope finds."""
        found: dict[str, Any] = json.loads((self.root / "results" / "results.json").read_text())
        return found

    def graded(self, environment: Mapping[str, str] = {}) -> dict[str, Any]:
        """Returns the results of a complete run, whose exit code is always 0."""
        assert self.start(environment).wait(PATIENCE) == 0
        return self.results()


@pytest.fixture(scope="module")
def packed(grader, tiny, tmp_path_factory) -> Path:
    """The tiny assignment's autograder."""
    file = tmp_path_factory.mktemp("zip") / "autograder.zip"
    done = grader("gradescope-zip", file, cwd=tiny)
    assert done.returncode == 0, done.stderr
    return file


@pytest.fixture
def forked(warm, tmp_path) -> Mapping[str, str]:
    """Variables with which the autograder's command is forked; it runs this project's engine."""
    program = tmp_path / "python"
    program.write_text(warm.program())
    program.chmod(0o755)
    return {"GRADER_PYTHON": str(program)}


@pytest.fixture
def container(packed, tmp_path) -> Container:
    """A fresh container with the tiny assignment's autograder."""
    return Container(tmp_path / "autograder", packed)


def test_the_zip_has_its_files_at_the_root_and_executable_scripts(packed):
    """Gradescope would not find the files in a folder of the zip."""
    with zipfile.ZipFile(packed) as archive:
        modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
        assert archive.read("run_autograder").startswith(b"#!")
        assert archive.read("setup.sh").startswith(b"#!")
    assert modes["setup.sh"] == modes["run_autograder"] == 0o100755
    assert {name.split("/")[0] for name in modes} == {
        "setup.sh", "run_autograder", "not_started.json", "requirements.txt", "constraints.txt",
        "engine", "course",
    }  # fmt: skip
    assert "course/tests/hidden/test_tiny.py" in modes
    assert "course/solutions/__init__.py" in modes
    assert not [name for name in modes if "__pycache__" in name]


def test_the_scripts_in_the_zip_are_valid_shell(packed, tmp_path):
    """`bash -n` reads them without running them."""
    subprocess.run(["unzip", "-q", packed, "-d", tmp_path], check=True)
    for script in ("setup.sh", "run_autograder"):
        subprocess.run(["bash", "-n", tmp_path / script], check=True)


def test_the_same_assignment_makes_a_byte_identical_zip(grader, tiny, packed, tmp_path):
    """A comparison of two zips shows whether the assignment changed."""
    copy = tmp_path / "tiny"
    shutil.copytree(tiny, copy, copy_function=shutil.copy)  # other times, same content
    again = tmp_path / "again.zip"
    assert grader("gradescope-zip", again, cwd=copy).returncode == 0
    assert again.read_bytes() == packed.read_bytes()


def test_the_requirements_ask_for_torch_without_cuda(grader, tmp_path):
    """The assignment pins the version of torch, and the instructor may name the index."""
    file = tmp_path / "autograder.zip"
    index = "file:///somewhere/with/cpu/wheels"
    done = grader("gradescope-zip", file, "--torch-index", index)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    with zipfile.ZipFile(file) as archive:
        requirements = archive.read("requirements.txt").decode().splitlines()
        pins = archive.read("constraints.txt").decode()
    (version,) = re.findall(r"^torch==(\S+)$", pins, re.MULTILINE)
    assert requirements[0] == f"--extra-index-url {index}"
    assert requirements[-1] == f"torch=={version}+cpu"
    assert {re.split(r"\W", line)[0] for line in requirements[1:]} >= {"pytest", "landlockpy"}
    assert not [line for line in requirements if "ruff" in line], "what developers need is not"


@pytest.mark.unit
def test_the_requirements_have_the_packages_that_the_assignment_lists(tmp_path, tiny):
    """Without them, exercises that need one are graded for no student."""
    root = tmp_path / "needing"
    shutil.copytree(tiny, root)
    settings = root / "pyproject.toml"
    listed = 'packages = ["regex", "yaml"]\npreload = ["torch._dynamo", "not_there"]'
    settings.write_text(settings.read_text().replace("[tool.grader]", f"[tool.grader]\n{listed}"))
    requirements = zipped(root, PLAIN).read("requirements.txt").decode().splitlines()
    assert "regex" in requirements
    assert [line for line in requirements if line.lower().startswith("pyyaml")] == ["pyyaml>=6.0"]
    assert [line for line in requirements if line.startswith("torch")] == requirements[-1:]
    assert "not_there" not in requirements


def zipped(root: Path, autograder: Autograder) -> zipfile.ZipFile:
    """Returns the zip of an assignment."""
    return zipfile.ZipFile(io.BytesIO(autograder_zip(find_assignment(root), autograder)))


EVERYTHING = Autograder(
    Options(5, ("run_count", "run_double"), "src/my adapters.py", 60.5, 256, "cpu", 30.0),
    Display(None, VisibleWhen.HIDDEN, leaderboard=True),
    "https://somewhere",
    require_isolation=True,
    explain=False,
)
PLAIN = Autograder(Options(timeout=240.0, memory_mb=128, explain_seconds=40.0), Display())


@pytest.mark.unit
@pytest.mark.parametrize(
    ("autograder", "options", "seconds"),
    [
        (
            EVERYTHING,
            "--timeout 60.5 --memory 256 --explain-timeout 30 --adapters 'src/my adapters.py' "
            "--hidden-tests hidden --seed 5 --exercise run_count --exercise run_double "
            "--leaderboard --no-explain --require-isolation",
            360,
        ),
        (
            PLAIN,
            "--timeout 240 --memory 128 --explain-timeout 40 --adapters adapters.py "
            "--hidden-tests visible",
            580,
        ),
    ],
    ids=["everything", "plain"],
)
def test_the_run_script_has_the_options_of_the_command(tiny, autograder, options, seconds):
    """The time limit covers the submission, its explanation and five minutes."""
    script = zipped(tiny, autograder).read("run_autograder").decode()
    words = script.partition('"${options[@]}" ')[2].splitlines()[0]
    assert shlex.split(words) == shlex.split(options)
    assert f"--kill-after=10 {seconds} " in script


@pytest.mark.unit
@pytest.mark.parametrize(
    ("constraints", "version"),
    [
        (None, None),
        ("numpy==1\ntorch == 2.6.0 # CPU\ntorchvision==9\n", "2.6.0"),
        ("  Torch==2.6.0+cu118 \n", "2.6.0"),
        ("torchvision==9\n", None),
        ("torch==2.*\n", None),
        ("torch==2.6.0,!=2.6.1\n", None),
        ("torch===2.6.0\n", None),
    ],
)
def test_torch_is_pinned_as_in_the_constraints_or_as_here(tiny, tmp_path, constraints, version):
    """Without a pin to one version, it is the one that runs here. The index is optional."""
    root = Path(shutil.copytree(tiny, tmp_path / "course"))
    if constraints is not None:
        (root / "constraints.txt").write_text(constraints)
    archive = zipped(root, PLAIN)
    lines = archive.read("requirements.txt").decode().splitlines()
    assert archive.read("constraints.txt").decode() == (constraints or "")
    here = importlib.metadata.version("torch").partition("+")[0]
    assert lines[-1] == f"torch=={version or here}+cpu"
    assert [line for line in lines if line.startswith("torch")] == lines[-1:]
    assert not [line for line in lines if "extra" in line]
    assert lines[:-1] == sorted(lines[:-1])
    assert "not graded" in archive.read("not_started.json").decode().lower()


@pytest.mark.unit
def test_the_zip_refuses_an_unknown_exercise(tiny):
    """The author learns it before the upload."""
    unknown = Autograder(Options(exercises=("run_duoble",)), Display())
    with pytest.raises(BadAssignment, match="did you mean run_double"):
        autograder_zip(find_assignment(tiny), unknown)


def test_options_of_the_zip_command_apply_when_the_autograder_runs(grader, tiny, forked, tmp_path):
    """The instructor chooses hidden tests after the due date, one exercise and the seed.

    A leaderboard would show the total before that date, and is left out.
    """
    file = tmp_path / "autograder.zip"
    options = ["--hidden-tests", "after_due_date", "--leaderboard", "--seed", 5]
    options += ["--exercise", "run_double", "--adapters", "src/my adapters.py"]
    assert grader("gradescope-zip", file, *options, cwd=tiny).returncode == 0
    container = Container(tmp_path / "autograder", file)
    write_files(container.root / "submission", {"src/my adapters.py": RIGHT})
    found = container.graded(forked)
    assert [test["visibility"] for test in found["tests"]] == ["visible", "after_due_date"]
    assert found["extra_data"]["seed"] == 5
    assert "leaderboard" not in found


def test_a_right_submission_gets_the_points_of_the_gradescope_assignment(container):
    """Only root can read the tests, the solutions and the students' names."""
    write_files(container.root / "submission", {"adapters.py": RIGHT})
    found = container.graded()
    assert found["score"] == 50.0
    assert found["output"] == "50 of 50 points. everything right"
    for name in ("source", "submission", "submission_metadata.json"):
        assert (container.root / name).stat().st_mode & 0o007 == 0, name


def test_a_submission_cannot_read_the_tests_and_solutions(container, forked):
    """The submission would put the file's text into the message of an exception."""
    if sys.platform != "linux":
        pytest.skip("files are confined on Linux")
    spy = f"""
        from pathlib import Path
        def run_double(x):
            raise ValueError(Path({str(container.root / "source/course/solutions/__init__.py")!r})
                             .read_text())
        """
    write_files(container.root / "submission", {"adapters.py": spy})
    found = container.graded(forked)
    assert found["score"] == 0.0
    # The worker may have a file tree of its own, in which the file does not exist.
    said = found["tests"][0]["output"]
    assert "PermissionError" in said or "FileNotFoundError" in said
    assert "return 2 * x" not in json.dumps(found)


@pytest.mark.slow
def test_an_empty_submission_is_reported(container):
    """The folder is there but empty, as students may upload anything."""
    found = container.graded()
    assert found["score"] == 0.0
    assert found["output"].startswith("Nothing could be graded: it is empty")


@pytest.mark.slow
def test_an_unreadable_submission_gets_its_reason_in_the_results(container):
    """One sentence gives the reason and the line."""
    write_files(container.root / "submission", {"adapters.py": "def run_double(x:\n"})
    found = container.graded()
    assert "SyntaxError" in found["output"]
    assert "adapters.py:1" in found["output"]


def test_a_grader_that_does_not_start_is_reported_as_not_graded(container):
    """The earlier results stay in place."""
    write_files(container.root / "submission", {"adapters.py": RIGHT})
    found = container.graded({"GRADER_PYTHON": "/nowhere/python"})
    assert "NOT GRADED" in found["output"]
    assert "did not start" in found["output"]


@pytest.mark.slow
def test_an_endless_loop_costs_its_own_exercise(container):
    """The other exercises keep their points."""
    endless = RIGHT + "\ndef run_count(x):\n    while True: pass\n"
    write_files(container.root / "submission", {"adapters.py": endless})
    found = container.graded()
    assert [test["score"] for test in found["tests"]] == [40.0, 0.0]
    running = r"after (2|6) s still running adapters\.py:"  # 6 on a busy machine
    assert re.search(running, found["tests"][1]["output"])


def test_a_killed_autograder_leaves_the_results_so_far(container):
    """Gradescope may stop a container at any time."""
    endless = RIGHT + "\ndef run_count(x):\n    while True: pass\n"
    write_files(container.root / "submission", {"adapters.py": endless})
    process = container.start()
    points = "the points of the first exercise are written"
    until(lambda: points_in(container) == 40.0, points, pause=0.02)
    for pid in [process.pid, *descendants(process.pid)]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    found = container.results()
    assert "cut off before it ended" in found["output"]
    assert found["score"] == 40.0


def points_in(container: Container) -> float:
    """Returns the points in the results so far."""
    with contextlib.suppress(FileNotFoundError):
        return float(container.results()["score"])
    return 0.0


HOG = """
from adapters_right import *
import torch

def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    kept = []
    while True:
        kept.append(torch.ones(1 << 20))
"""


@pytest.mark.parametrize(
    "greedy",
    [False, pytest.param(True, marks=pytest.mark.slow)],
    ids=["right", "greedy"],
)
def test_all_processes_fit_into_the_smallest_container(grader, tmp_path, greedy):
    """A right submission and one that takes all memory run in the attention assignment.

    The measure is the memory of all processes together, in which shared memory counts once.
    """
    if not Path("/proc/self/smaps_rollup").exists():
        pytest.skip("this system does not tell how much memory processes share")
    file = tmp_path / "autograder.zip"
    assert grader("gradescope-zip", file, cwd=ROOT).returncode == 0
    container = Container(tmp_path / "autograder", file)
    submission = container.root / "submission"
    shutil.copytree(ROOT / "examples" / "class" / "alice-jones", submission, dirs_exist_ok=True)
    if greedy:
        (submission / "adapters.py").rename(submission / "adapters_right.py")
        (submission / "adapters.py").write_text(HOG)
    process = container.start()
    peak = max(megabytes_until_it_ends(process))
    found = container.results()
    lost = [test["name"] for test in found["tests"] if test["score"] < test["max_score"]]
    assert lost == (["run_parameter_count"] if greedy else [])
    assert 300 < peak < CONTAINER_MB
    print(f"peak: {peak:.0f} MB")


def megabytes_until_it_ends(process: subprocess.Popen[bytes]) -> Iterator[float]:
    """Yields the memory of a process and its descendants again and again, in megabytes."""
    while process.poll() is None:
        yield sum(proportional_kilobytes(pid) for pid in descendants(process.pid)) / 1024
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.05)


def descendants(pid: int) -> list[int]:
    """Returns the descendants of a process."""
    found, waiting = [], [pid]
    while waiting:
        parent = waiting.pop()
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                children = [int(child) for child in (task / "children").read_text().split()]
                found += children
                waiting += children
    return found


def proportional_kilobytes(pid: int) -> int:
    """Returns a process's memory with its proportional part of shared memory."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        return int(re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)[1])
    return 0
