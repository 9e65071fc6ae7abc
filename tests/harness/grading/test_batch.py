"""The command `grader batch`, run as its users run it."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.harness.conftest import Run
from tests.harness.waiting import PATIENCE, until

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
RIGHT = "def run_double(x):\n    return 2 * x\n\ndef run_count(x):\n    return x.numel()\n"


@pytest.fixture
def submissions(tmp_path):
    """An empty folder for submissions."""
    folder = tmp_path / "submissions"
    folder.mkdir()
    return folder


def hand_in(submissions: Path, name: str, code: str | bytes = RIGHT) -> None:
    """Writes a submission of one file."""
    (submissions / name).mkdir()
    content = code if isinstance(code, bytes) else code.encode()
    (submissions / name / "adapters.py").write_bytes(content)


def rows(out: Path) -> dict[str, dict]:
    """Returns the rows of `results.jsonl` by submission."""
    lines = (out / "results.jsonl").read_text().splitlines()
    return {row["submission"]: row for row in map(json.loads, lines)}


@dataclass(frozen=True)
class Graded:
    """A graded class: its submissions, its results, and the command's output."""

    submissions: Path
    out: Path
    printed: str
    said: str


def graded_in(folder: Path, grader: Run, tiny: Path, *options: object) -> Graded:
    """Grades the folder `submissions` in `folder` with `grader batch`."""
    submissions, out = folder / "submissions", folder / "out"
    done = grader("batch", submissions, "--out", out, *options, cwd=tiny)
    assert done.returncode == 0, done.stderr
    return Graded(submissions, out, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def pair(grader, tiny, tmp_path_factory) -> Graded:
    """A right and a wrong submission, graded with seed 7."""
    folder = tmp_path_factory.mktemp("pair")
    (folder / "submissions").mkdir()
    hand_in(folder / "submissions", "alice")
    hand_in(folder / "submissions", "bob", RIGHT.replace("2 * x", "3 * x"))
    return graded_in(folder, grader, tiny, "--seed", 7)


@pytest.fixture
def again(pair, tmp_path) -> Graded:
    """A copy of `pair`, to be graded again."""
    return replace(
        pair,
        submissions=Path(shutil.copytree(pair.submissions, tmp_path / "again" / "submissions")),
        out=Path(shutil.copytree(pair.out, tmp_path / "again" / "out")),
    )


@pytest.fixture(scope="module")
def odd(grader, tiny, tmp_path_factory) -> Graded:
    """A right submission among unusual and unreadable ones, graded."""
    folder = tmp_path_factory.mktemp("odd")
    submissions = folder / "submissions"
    submissions.mkdir()
    hand_in(submissions, "right")
    hand_in(submissions, "syntax-error", "def run_double(x:\n    return 2 * x\n")
    hand_in(submissions, "newer-python", "type Number = int | float\n" + RIGHT)
    hand_in(submissions, "newer-typing", "from typing import TypeIs\n" + RIGHT)
    hand_in(submissions, "no-such-package", "from attention_tools import *\n" + RIGHT)
    hand_in(submissions, "not-utf8", b"name = 'caf\xe9'\n" + RIGHT.encode())
    (submissions / "empty").mkdir()
    (submissions / "no-adapters").mkdir()
    (submissions / "no-adapters" / "model.py").write_text("x = 1\n")
    (submissions / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    hand_in(submissions, "twice")
    with zipfile.ZipFile(submissions / "twice.zip", "w") as archive:
        archive.writestr("adapters.py", RIGHT.replace("2 * x", "3 * x"))
    return graded_in(folder, grader, tiny)


def test_results_have_the_documented_form(pair):
    """Other programs depend on the fields of `results.jsonl`."""
    out = pair.out
    alice, bob = rows(out)["alice"], rows(out)["bob"]
    assert (alice["score"], alice["max_score"], alice["status"]) == (5.0, 5.0, "graded")
    assert set(bob) == {
        "schema", "submission", "status", "score", "max_score", "seed", "submission_hash",
        "suite_hash", "duration_s", "message", "isolation", "unexplained", "carried", "tests",
    }  # fmt: skip
    assert (bob["schema"], bob["seed"]) == (1, 7)
    wrong = next(t for t in bob["tests"] if t["id"] == "tests/public/test_tiny.py::test_doubles")
    assert set(wrong) == {
        "id", "exercise", "aspect", "status", "score", "max_score", "visibility", "duration_s",
        "message", "max_abs_error", "max_rel_error", "rtol", "atol", "error_over_tolerance",
        "diagnosis", "where",
    }  # fmt: skip
    assert (wrong["status"], wrong["visibility"], wrong["aspect"]) == ("failed", "public", "values")
    assert wrong["max_rel_error"] == pytest.approx(0.5, rel=1e-3)
    assert "alice" in pair.printed
    assert "5 / 5" in pair.printed
    assert str(out) in pair.printed


def test_each_unreadable_submission_has_a_row_with_the_reason(odd):
    """One broken submission does not stop the batch, and every other submission keeps its grade."""
    graded = {name: row for name, row in rows(odd.out).items() if not name.startswith("twice")}
    assert graded.pop("right")["score"] == 5.0
    assert {row["status"] for row in graded.values()} == {"unreadable"}
    assert {row["score"] for row in graded.values()} == {0.0}
    said = {name: row["message"] for name, row in graded.items()}
    assert "adapters.py:1" in said["syntax-error"]
    assert "Python 3.12 or newer" in said["newer-python"]
    assert "Python 3.13 or newer" in said["newer-typing"]
    assert "attention_tools" in said["no-such-package"]
    assert "utf-8" in said["not-utf8"]
    assert "empty" in said["empty"]
    assert "adapters.py" in said["no-adapters"]
    assert "zip" in said["broken"]
    assert "Traceback" not in odd.printed + odd.said + "".join(said.values())


def test_a_folder_and_an_archive_with_one_name_are_both_graded(odd):
    twice = [row for name, row in rows(odd.out).items() if name.startswith("twice")]
    assert [row["status"] for row in twice] == ["graded", "graded"]
    assert twice[0]["score"] != twice[1]["score"]
    assert "more than once" in odd.said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere", "--out", "out"], "nowhere"),
        (["submissions", "--out", "out"], "is empty"),
        (["submissions"], "--out"),
        (
            ["submissions", "--out", "out", "--exercise", "run_nothing"],
            "run_nothing is not an exercise",
        ),
        (["submissions", "--out", "out", "--jobs", "0"], "--jobs"),
    ],
)
def test_bad_arguments_give_one_sentence_and_exit_code_2(
    grader, tiny, submissions, arguments, said
):
    """The message names the wrong argument, and there is no traceback."""
    if "--exercise" in arguments:
        hand_in(submissions, "alice")
    done = grader("batch", "--assignment", tiny, *arguments, cwd=submissions.parent)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_outside_an_assignment_the_command_says_where_to_run_it(grader, submissions):
    """The working folder must be inside an assignment, unless `--assignment` names one."""
    hand_in(submissions, "alice")
    done = grader("batch", submissions, "--out", submissions.parent / "out", cwd=submissions)
    assert done.returncode == 2
    assert "--assignment" in done.stderr


def test_results_of_another_assignment_are_not_overwritten(grader, again):
    """A folder with another assignment's results is refused as `--out`, and does not change."""
    before = (again.out / "results.jsonl").read_bytes()
    done = grader("batch", again.submissions, "--out", again.out, cwd=ROOT)
    assert done.returncode == 2
    assert "tiny" in done.stderr
    assert (again.out / "results.jsonl").read_bytes() == before


def test_a_second_run_grades_only_what_is_new_or_changed(grader, tiny, again):
    """The first run's seed is also kept, so that the class gets the same inputs."""
    (again.submissions / "bob" / "adapters.py").write_text(RIGHT.replace("2 * x", "x"))
    hand_in(again.submissions, "carol")
    done = grader("batch", again.submissions, "--out", again.out, cwd=tiny)
    assert "1 graded before and unchanged; 2 to grade" in done.stderr
    assert {row["seed"] for row in rows(again.out).values()} == {7}
    assert rows(again.out)["bob"]["score"] < 5


def test_a_submission_that_is_no_longer_handed_in_leaves_the_results(grader, tiny, again):
    """The results hold only the submissions that are in the folder now."""
    shutil.rmtree(again.submissions / "bob")
    done = grader("batch", again.submissions, "--out", again.out, cwd=tiny)
    assert list(rows(again.out)) == ["alice"]
    assert "no longer handed in, and removed from the results: bob" in done.stderr


def test_one_exercise_alone_can_be_graded(grader, tiny, submissions, tmp_path):
    """The maximum score is then the points of that exercise."""
    hand_in(submissions, "alice")
    out = tmp_path / "out"
    grader("batch", submissions, "--out", out, "--exercise", "run_count", cwd=tiny)
    assert (rows(out)["alice"]["score"], rows(out)["alice"]["max_score"]) == (1.0, 1.0)


def start_batch(tiny: Path, submissions: Path, out: Path) -> subprocess.Popen[bytes]:
    """Starts `grader batch` in its own process group, with two jobs."""
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "grader",
            "batch",
            str(submissions),
            "--out",
            str(out),
            "--jobs",
            "2",
        ],
        cwd=tiny,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait_for_grades(out: Path, count: int) -> None:
    """Waits until the store holds at least `count` grades."""
    until(lambda: stored(out) >= count, f"{count} grades are stored")


def stored(out: Path) -> int:
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


def test_a_killed_batch_continues_where_it_stopped(grader, tiny, submissions, tmp_path):
    """`kill -9` loses only the submissions in progress, and each submission is graded once."""
    count = 20
    for number in range(count):
        slow = "import time; time.sleep(0.3)\n"
        hand_in(submissions, f"student-{number:02}", slow + RIGHT)
    out = tmp_path / "out"
    batch = start_batch(tiny, submissions, out)
    wait_for_grades(out, 5)
    os.killpg(batch.pid, signal.SIGKILL)
    batch.wait()
    kept = stored(out)
    assert 5 <= kept < count
    done = grader("batch", submissions, "--out", out, cwd=tiny)
    assert done.returncode == 0, done.stderr
    assert f"{kept} graded before and unchanged; {count - kept} to grade" in done.stderr
    graded = rows(out)
    assert list(graded) == [f"student-{number:02}" for number in range(count)]
    assert {row["score"] for row in graded.values()} == {5.0}


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_stopped_batch_ends_cleanly(tiny, submissions, tmp_path, stop):
    """Finished grades are kept, and no process keeps running."""
    for number in range(20):
        hand_in(submissions, f"student-{number:02}", "import time; time.sleep(0.3)\n" + RIGHT)
    out = tmp_path / "out"
    batch = start_batch(tiny, submissions, out)
    wait_for_grades(out, 3)
    os.kill(batch.pid, stop)
    assert batch.wait(PATIENCE) == 130
    graded = [row for row in rows(out).values() if row["status"] == "graded"]
    assert (len(rows(out)), len(graded)) == (20, stored(out))
    assert len(graded) >= 3
    assert not processes_that_mention(str(tiny)), "a judge or a worker is still running"


def processes_that_mention(text: str) -> list[str]:
    """Returns command lines of processes whose command line or working folder holds `text`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().decode(errors="replace")
            folder = str((process / "cwd").readlink())
        except OSError:
            continue
        if (text in line or text in folder) and int(process.name) != os.getpid():
            found.append(line)
    return found


def test_run_grades_one_submission_as_text_or_json(grader, tiny, submissions):
    """`grader run` prints the exercise and the reason, and supports JSON and `--fail-under`."""
    hand_in(submissions, "alice", RIGHT.replace("2 * x", "3 * x"))
    done = grader("run", submissions / "alice", cwd=tiny)
    assert done.returncode == 0, done.stderr
    assert "run_double" in done.stdout
    assert "values in the result are wrong" in " ".join(done.stdout.split())
    below = ("--format", "json", "--fail-under", 90)
    as_json = grader("run", submissions / "alice", *below, cwd=tiny)
    assert json.loads(as_json.stdout)["submission"] == "alice"
    assert as_json.returncode == 1


def test_no_submission_is_graded_if_tests_cannot_be_collected(grader, tiny, submissions, tmp_path):
    """A broken hidden test is the author's error, and no submission loses points for it."""
    broken = tmp_path / "broken"
    shutil.copytree(tiny, broken)
    (broken / "tests" / "hidden" / "test_tiny.py").write_text("import nothing_of_this_name\n")
    hand_in(submissions, "alice")
    done = grader("batch", submissions, "--out", tmp_path / "out", cwd=broken)
    assert done.returncode != 0
    assert "nothing_of_this_name" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_reference_leaves_the_submission_not_graded(grader, tiny, submissions, tmp_path):
    """The submission is *not graded*: it loses no points, and the command exits with code 1."""
    broken = tmp_path / "broken"
    shutil.copytree(tiny, broken)
    (broken / "solutions" / "__init__.py").write_text(
        "def run_double(x):\n    return 1 / 0\n\ndef run_count(x):\n    return x.numel()\n"
    )
    hand_in(submissions, "alice")
    out = tmp_path / "out"
    done = grader("batch", submissions, "--out", out, cwd=broken)
    assert done.returncode == 1
    assert rows(out)["alice"]["status"] == "not_graded"
    assert "not graded" in done.stdout.lower()
