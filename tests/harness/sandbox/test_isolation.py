"""Confinement: tested with real attempts, reported with every grade, and required on demand."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest

from grader.intake.client import IntakeClient
from tests.harness.hostile.ranks import rank
from tests.harness.hostile.staging import ENGINE
from tests.harness.sandbox.variants import costs_much, examine_everything, notebook_of_many_cells
from tests.harness.waiting import PATIENCE

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def examination():
    """The doctor's attempts and all others on this machine, and how they ended."""
    return examine_everything()


def test_every_attempt_of_a_confined_process_ends_as_it_must(examination):
    """If the machine grants every layer, no attempt escapes, and permitted work succeeds."""
    if "none" in examination.isolation.values():
        pytest.skip(f"this machine does not grant every layer: {examination.isolation}")
    wrong = [attempt for attempt in examination.attempts if not attempt.ok]
    assert wrong == []


def test_each_layer_that_is_reported_refuses_its_attempts(examination):
    """A layer that is reported as present must have refused its attempts."""
    for attempt in examination.attempts:
        if examination.isolation.get(attempt.layer, "none") != "none":
            assert attempt.ok, attempt


def test_every_kind_of_limit_is_tried(examination):
    """The attempts cover all limits: memory, disk, threads, time, output and more."""
    tried = Counter(attempt.layer for attempt in examination.attempts)
    assert tried["memory"] >= 9
    assert tried["disk"] >= 9
    assert {"threads", "time", "output", "syscalls", "namespaces", "intake"} <= set(tried)


def test_an_attempt_that_no_layer_promises_to_refuse_is_no_failure(examination):
    """Without their own file tree, workers can look up file names; the report says so."""
    for attempt in examination.attempts:
        if not attempt.promised:
            assert attempt.ok
            assert attempt.layer == "namespaces"
    held = examination.isolation["namespaces"]
    own = [attempt for attempt in examination.attempts if "elsewhere" in attempt.what]
    assert {attempt.promised for attempt in own} == {"files" in held}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the attempts are made for Linux")
@pytest.mark.parametrize("name", ["an ordinary user", "root of a container without rights"])
def test_every_attempt_of_another_user_ends_as_it_must(name):
    """Where the kernel keeps no limit, the grader watches, and fewer layers refuse the rest."""
    root = Path(tempfile.mkdtemp(prefix="attempts-"))
    root.chmod(0o755)
    try:
        done = subprocess.run(
            [*rank(name, root).prefix, sys.executable, "-m", "tests.harness.sandbox.variants"],
            cwd=ENGINE,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        shutil.rmtree(root, ignore_errors=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for layer in ("filesystem", "syscalls"):
        if found["isolation"][layer] == "none":
            pytest.skip(f"this machine grants no isolation of {layer}")
    assert [one for one in found["attempts"] if not one["ok"]] == []


@pytest.mark.slow
def test_the_doctor_lists_layers_and_attempts(grader, examination):
    """The exit code says whether untrusted code may be graded here."""
    done = grader("doctor")
    assert done.returncode == (0 if examination.holds else 1), done.stdout + done.stderr
    for layer in ("filesystem", "identity", "memory", "network", "processes", "syscalls"):
        assert layer in done.stdout
    assert re.search(r"read /etc/passwd +refused", done.stdout) or not examination.holds


def test_every_grade_says_how_its_worker_was_confined(grader, tiny, tmp_path, examination):
    """Programs that read the results can require it."""
    (tmp_path / "alice.py").write_text("def run_double(x):\n    return 2 * x\n")
    done = grader("run", tmp_path / "alice.py", "--format", "json", cwd=tiny)
    isolation = json.loads(done.stdout)["isolation"]
    assert isolation.keys() == examination.isolation.keys()
    assert isolation["filesystem"] == examination.isolation["filesystem"]


WITH_A_CLOSED_HOME = """
import os, pathlib, sysconfig
from grader.worker.confinement.file_tree import readable_by_all
sysconfig.get_paths()
if os.geteuid() == 0:
    os.setuid(65534)
home = pathlib.Path(os.environ["HOME"])
try:
    (home / "packages").is_dir()
except PermissionError:
    readable_by_all()
    print("prepared")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a worker is confined on Linux")
def test_confinement_works_with_an_inaccessible_home(tmp_path):
    """A service's HOME may belong to another user; packages there are then not used."""
    closed = tmp_path / "home"
    closed.mkdir(mode=0o000)
    done = subprocess.run(
        [sys.executable, "-c", WITH_A_CLOSED_HOME],
        env=os.environ | {"HOME": str(closed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "prepared\n", done.stderr


class LateIntakeClient(IntakeClient):
    """An intake process that starts four seconds late, as on a busy machine."""

    boot: ClassVar[str] = f"import time; time.sleep(4)\n{IntakeClient.boot}"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody tells what a process used")
def test_a_slow_start_of_intake_does_not_count_against_a_notebook(tmp_path):
    """Taking the notebook in needs more wall-clock time, but the same CPU time."""
    notebook = notebook_of_many_cells(tmp_path)
    with LateIntakeClient() as client:
        assert not costs_much(client, tmp_path, notebook)


WITHOUT_LANDLOCK = """
import errno, pathlib, sys
import pyseccomp
filter = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
for landlock in (444, 445, 446):
    filter.add_rule(pyseccomp.ERRNO(errno.EPERM), landlock)
filter.load()
from grader.worker.confinement.file_tree import restrict_files
print(restrict_files([], pathlib.Path(sys.argv[1]), []))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock is Linux's")
def test_a_container_that_forbids_landlock_reports_none(tmp_path):
    """Older containers answer EPERM instead of ENOSYS."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LANDLOCK, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stdout == "none\n", done.stderr
