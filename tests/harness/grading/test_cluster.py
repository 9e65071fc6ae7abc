"""A class graded on other machines. The workers are real processes that share no disk."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import shutil
import signal
import subprocess
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import grader as verbs
from grader.core.verdict import Grade, GradeStatus
from grader.grading.cluster.bundle import BadReply, packed_reply, result_in, unpacked_reply
from grader.grading.cluster.connection import connected
from grader.grading.options import GradedTask, Task
from grader.intake.entry import Entry
from grader.results.store import Store
from tests.harness.cluster_fixtures import Cluster, jobs_of, running_cluster
from tests.harness.conftest import RIGHT, ROOT, TINY, write_files
from tests.harness.waiting import PATIENCE, until

pytestmark = pytest.mark.process

SLOW = "import time\n" + RIGHT.replace("return x + x", "time.sleep(0.1); return x + x")


@pytest.fixture(scope="module")
def other_version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with another version of the grader."""
    folder = tmp_path_factory.mktemp("stranger")
    shutil.copytree(ROOT / "grader", folder / "grader", ignore=shutil.ignore_patterns("*.pyc"))
    file = folder / "grader" / "__init__.py"
    text, count = re.subn(r'__version__ = ".*"', '__version__ = "0.0.9"', file.read_text())
    assert count == 1
    file.write_text(text)
    return folder


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A running cluster with one worker of two threads."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        running.worker("one", threads=2)
        yield running


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A copy of the tiny assignment, to be changed."""
    return write_files(tmp_path / "course", TINY)


def a_class(folder: Path, adapters: str, size: int) -> Path:
    for number in range(size):
        write_files(folder / f"student-{number}", {"adapters.py": adapters})
    return folder


def without_durations(grade: Grade) -> Grade:
    tests = tuple(test._replace(duration_s=0) for test in grade.tests)
    return dataclasses.replace(grade, tests=tests, duration_s=0)


def test_remote_grades_equal_local_grades(
    cluster: Cluster, other_version: Path, course: Path, tmp_path: Path, grader
) -> None:
    """This holds for every kind of submission. A worker with another grader version is refused."""
    cluster.worker("stranger", other_version)
    handed_in = write_files(
        tmp_path / "class",
        {
            "folder/work/adapters.py": RIGHT,
            "folder/work/data.csv": "1,2\n",
            "wrong/adapters.py": RIGHT.replace("x + x", "3 * x"),
            "exits/adapters.py": RIGHT.replace("return x.numel()", "import os; os._exit(0)"),
            "large/adapters.py": RIGHT,
            "large/more.py": "#" * 3_000_000,
            "single.py": RIGHT,
            "empty/notes.txt": "no code",
        },
    )
    with zipfile.ZipFile(handed_in / "zipped.zip", "w") as archive:
        archive.writestr("adapters.py", RIGHT)
    out = tmp_path / "out"
    arguments = ("batch", handed_in, "--out", out, "--seed", 7, "--scheduler", cluster.address)
    done = grader(*arguments, cwd=course)
    assert done.returncode == 0, done.stderr
    refused = f"{cluster.address_of('stranger')} is refused: it has grader 0.0.9 and not"
    assert refused in done.stderr
    assert "7/7: " in done.stderr
    there = [*Store.read(out).grades()]
    here = [*verbs.batch(handed_in, tmp_path / "here", assignment=course, seed=7, jobs=1).grades()]
    assert [*map(without_durations, there)] == [*map(without_durations, here)]
    assert Counter(str(grade.status) for grade in there) == {"graded": 6, "unreadable": 1}
    assert not cluster.files_of("one"), "the assignment is left behind"

    again = grader(*arguments, cwd=course)
    assert "7 graded before and unchanged; 0 to grade" in again.stderr


@pytest.mark.slow
def test_isolation_may_be_required_of_workers(
    cluster: Cluster, course: Path, tmp_path: Path
) -> None:
    """Workers without every layer are refused; others grade."""
    handed_in = a_class(tmp_path / "class", RIGHT, 1)
    options = {"assignment": course, "seed": 7, "scheduler": cluster.address, "jobs": 1}
    with contextlib.suppress(verbs.NoCluster):
        verbs.batch(handed_in, tmp_path / "out", require_isolation=True, **options)
    (grade,) = verbs.batch(handed_in, tmp_path / "out", **options).grades()
    assert grade.score == grade.max_score


@pytest.mark.slow
def test_submissions_of_a_killed_remote_worker_are_graded_once_elsewhere(
    tiny: Path, tmp_path: Path
) -> None:
    """Judges end with their worker, a killed judge loses no grade, and a worker may join late."""
    handed_in = a_class(tmp_path / "class", SLOW, 6)
    arrived: list[str] = []
    ended: list[psutil.Process] = []
    with running_cluster(tmp_path) as cluster:
        first = cluster.worker("first")

        def kill(grade: Grade) -> None:
            arrived.append(grade.submission)
            if len(arrived) == 1:
                (job,) = jobs_of(first)
                ended.append(job)
                job.kill()
            if len(arrived) == 3:
                ended.extend(jobs_of(first))
                for process in first.children():
                    process.kill()
                cluster.worker("second", wait=False)

        results = verbs.batch(
            handed_in,
            tmp_path / "out",
            assignment=tiny,
            scheduler=cluster.address,
            explain=False,
            on_grade=kill,
        )
    assert sorted(arrived) == [f"student-{number}" for number in range(6)]
    assert {(grade.status, grade.score) for grade in results.grades()} == {("graded", 5.0)}
    assert len(ended) == 2
    until(lambda: not any(judge.is_running() for judge in ended), "its judges are gone")


@pytest.mark.slow
def test_an_interrupt_ends_remote_judges_and_the_next_batch_continues(
    cluster: Cluster, tiny: Path, tmp_path: Path
) -> None:
    """Ctrl-C leaves no remote process running, and a local batch can grade the rest."""
    handed_in = a_class(tmp_path / "class", SLOW, 12)
    command = [sys.executable, "-m", "grader", "batch", str(handed_in), "--out"]
    command += [str(tmp_path / "out"), "--jobs", "1", "--no-explain"]
    there = [*command, "--scheduler", cluster.address]
    running = subprocess.Popen(there, cwd=tiny, stderr=subprocess.PIPE, text=True)
    try:
        assert running.stderr is not None
        for line in running.stderr:
            if line.startswith("1/12"):
                break
        assert any(jobs_of(worker) for worker in cluster.workers)
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) == 130
        assert "the grades so far are kept" in running.stderr.read()
    finally:
        running.kill()
        running.communicate()
    assert not any(jobs_of(worker) for worker in cluster.workers)
    done = subprocess.run(
        command, cwd=tiny, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"\d+ graded before and unchanged; \d+ to grade", done.stderr)
    assert "12 graded, 0 unreadable, 0 not graded" in done.stdout


@pytest.mark.slow
def test_a_batch_ends_with_one_sentence_if_every_remote_worker_is_refused(
    other_version: Path, tiny: Path, tmp_path: Path, grader
) -> None:
    """The batch ends and does not wait for a suitable worker."""
    handed_in = a_class(tmp_path / "class", RIGHT, 1)
    nothing = write_files(tmp_path / "nothing", {"grader/__init__.py": ""})
    with running_cluster(tmp_path) as cluster:
        cluster.worker("older", other_version, wait=False)
        cluster.worker("without", nothing)
        until(lambda: cluster.address_of("older"), "both are there")
        arguments = ("batch", handed_in, "--out", tmp_path / "out", "--scheduler", cluster.address)
        done = grader(*arguments, cwd=tiny)
        assert done.returncode == 2
        sentence = done.stderr.splitlines()[-1]
        assert sentence.startswith(f"grader: every worker of {cluster.address} is refused (")
        older, without = cluster.address_of("older"), cluster.address_of("without")
        assert f"{older}: it has grader 0.0.9 and not {verbs.__version__}" in sentence
        assert f"{without}: it has no such grader as here (" in sentence


def test_a_silent_scheduler_ends_the_batch_with_one_sentence(
    tiny: Path, tmp_path: Path, grader
) -> None:
    """The command prints one sentence, and `--fresh` has not touched the folder `--out`."""
    handed_in = a_class(tmp_path / "class", RIGHT, 1)
    out, address = tmp_path / "out", "tcp://127.0.0.1:9"
    done = grader("batch", handed_in, "--out", out, "--fresh", "--scheduler", address, cwd=tiny)
    assert done.returncode == 2
    assert done.stderr.startswith(f"grader: no Dask scheduler answers at {address} (")
    assert len(done.stderr.splitlines()) == 1
    assert not out.exists()


@pytest.mark.unit
@pytest.mark.parametrize("address", ["10.0.0.5", "tcp://10.0.0.5", "tcp://a:b", "http://a:8786"])
def test_an_invalid_scheduler_address_is_refused_with_an_example(address: str) -> None:
    """The message shows a valid address as an example."""
    with pytest.raises(verbs.NoCluster, match=r"must be like tcp://10\.0\.0\.5:8786"):
        connected(address).__enter__()


WITHOUT = "import sys; sys.modules['distributed'] = None; from grader.cli import main; main()"


def test_one_sentence_says_what_to_install_if_distributed_is_absent(
    tiny: Path, tmp_path: Path
) -> None:
    """Only `--scheduler` needs the package."""
    handed_in = a_class(tmp_path / "class", RIGHT, 1)
    command = [sys.executable, "-c", WITHOUT, "batch", handed_in, "--out", tmp_path / "out"]
    done = subprocess.run(
        [*command, "--scheduler", "tcp://127.0.0.1:9"],
        cwd=tiny,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "grader: --scheduler needs the package distributed, which is not installed: "
        "pip install 'attention-grader[distributed]'\n"
    )


ALONE = """
import sys
from pathlib import Path
import grader.cli.command_line
from grader.core.assignment import find_assignment
from grader.grading.options import Options
from grader.grading.cluster.connection import chosen_pools
with chosen_pools(None, 1, print) as pools:
    with pools(Options().settings(find_assignment(Path()))) as pool:
        print(type(pool).__name__, sorted({"dask", "distributed", "tornado"} & {*sys.modules}))
"""


def test_a_local_batch_does_not_import_dask(tiny: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE],
        cwd=tiny,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stdout == "Coordinator []\n", done.stderr


@pytest.mark.unit
@pytest.mark.parametrize(
    "reply",
    [
        {"grade": "an object that is no bytes"},
        b"no zlib",
        packed_reply({"grade": 1})[:-3],
        zlib.compress(b"[]"),
        zlib.compress(b" " * (65 << 20)),
    ],
    ids=["no bytes", "no zlib", "cut off", "no object", "a bomb"],
)
def test_a_malformed_reply_is_refused(reply: object) -> None:
    """Replies are never unpickled, and reading one takes bounded memory."""
    with pytest.raises(BadReply):
        unpacked_reply(reply)


def task_of(name: str) -> Task:
    """Returns the task to grade a submission of that name."""
    return Task(Entry(name, Path(name)), 0, "hash", "key")


@pytest.mark.unit
@pytest.mark.parametrize(
    "reply",
    [{}, {"grade": 1}, {"grade": {"submission": "alice"}}, {"grade": {"tests": [{"id": 3}]}}],
    ids=repr,
)
def test_a_reply_without_a_complete_grade_is_refused(reply: dict[str, object]) -> None:
    """The reply is rejected, so that the submission is graded elsewhere."""
    with pytest.raises(BadReply, match="holds no grade"):
        result_in(reply, task_of("alice"))


@pytest.mark.unit
def test_a_reply_with_the_grade_of_another_submission_is_refused() -> None:
    """A worker that confuses submissions must not give a grade to the wrong student."""
    grade = Grade("bob", GradeStatus.GRADED, 1.0, 1.0, 7, "hash", "suite", 0.1, None, {}, ())
    reply = {"grade": json.loads(json.dumps(grade.as_json(whole=True)))}
    assert result_in(reply, task_of("bob")) == GradedTask(task_of("bob"), grade)
    with pytest.raises(BadReply, match="'bob'"):
        result_in(reply, task_of("alice"))
