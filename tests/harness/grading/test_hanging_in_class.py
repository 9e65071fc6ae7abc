"""Endless calls: the verdict names the running line, in the same words as the student's pytest."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.core.assignment import Settings
from grader.core.causes import NOT_CALLED, FailedTest, causes
from grader.core.verdict import Grade, GradeStatus, Status, Verdict, Where
from grader.grading.coordinator import Coordinator
from grader.grading.options import Task
from grader.intake.entry import Entry
from tests.harness.conftest import RIGHT, write_files
from tests.harness.grading_jobs import GradingJob
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.process

RIGHT_COUNT = "\n\ndef run_count(x):\n    return x.numel()\n"
# CPU seconds, or the larger limit of wall-clock seconds on a busy machine.
A_CALL = r"0\.[39]"
LOOP = "    n = 0\n    while True:\n        n += 1\n"


@pytest.fixture(scope="module")
def hasty(tiny, tmp_path_factory) -> Path:
    """The tiny assignment with a limit of 0.3 seconds for each call."""
    folder = tmp_path_factory.mktemp("hasty") / "tiny"
    shutil.copytree(tiny, folder)
    settings = folder / "pyproject.toml"
    settings.write_text(settings.read_text().replace("call_timeout = 2", "call_timeout = 0.3"))
    return folder


@pytest.fixture(scope="module")
def job(hasty) -> Iterator[GradingJob]:
    client = GradingJob(Settings(str(hasty), 1, (), "adapters.py", 3.0, 512, "suite"))
    yield client
    client.close()


@pytest.fixture
def grade(job, tmp_path) -> Callable[..., Grade]:
    """A function that returns the grade of a submission, with its explanation."""

    def graded(files: dict[str, str] | str) -> Grade:
        files = {"adapters.py": files} if isinstance(files, str) else files
        folder = write_files(tmp_path / "alice", files)
        return job.grade(Entry("alice", folder), "hash")

    return graded


def verdicts_on(grade: Grade, exercise: str = "run_double") -> list[Verdict]:
    """Returns the verdicts on an exercise."""
    return [test for test in grade.tests if test.exercise == exercise]


# A worker that sends a false place and then hangs. It writes to the grader's socket, and handles
# the signals that ask for the running line.
LIAR = """
import os, signal, stat

def told(text):
    for number in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, text)
        except OSError:
            pass

def lie(number, frame):
    {does}

signal.signal(signal.SIGUSR1, lie)
signal.signal(signal.SIGUSR2, lie)

def run_double(x):
    while True:
        pass
"""
HOSTILE = {
    "another file": """told(b'  File "/etc/passwd", line 1 in x\\n')""",
    "a file above": """told(f'  File "{os.getcwd()}/../x.py", line 1 in x\\n'.encode())""",
    "a line that is not there": """told(f'  File "{__file__}", line 999999 in x\\n'.encode())""",
    "no line": """told(f'  File "{__file__}", line 0 in x\\n'.encode())""",
    "a number of many digits": "told(b'  File \"adapters.py\", line ' + 9999 * b'9' + b' in x')",
    "no end": "while True: told(b'File ' * 10000)",
    "no frame": "told(os.urandom(100000))",
    "a name that is none": r"""told(b'  File "\\x00\\ud800\xff", line 1 in x\n')""",
    "nothing": "pass",
    "death": "os._exit(3)",
}


@pytest.mark.parametrize("does", rest_slow(HOSTILE.values(), 6), ids=HOSTILE)
def test_a_worker_that_forges_its_running_line_gets_no_line(grade, does):
    """Its verdicts are those of an endless loop without a line, and the rest is graded."""
    graded = grade(LIAR.format(does=does) + RIGHT_COUNT)
    assert graded.status is GradeStatus.GRADED
    assert graded.unexplained is None
    assert {test.status for test in verdicts_on(graded)} == {Status.TIMEOUT}
    assert {test.where for test in verdicts_on(graded)} == {None}
    assert re.search(f"took longer than {A_CALL} seconds", verdicts_on(graded)[0].message)
    assert {test.status for test in verdicts_on(graded, "run_count")} == {Status.PASSED}


def test_a_forged_line_within_the_submission_is_accepted(grade):
    """The line only explains the verdict. The test also shows that lies reach the judge."""
    graded = grade(LIAR.format(does="told(f'  File \"{__file__}\", line 2 in x\\n'.encode())"))
    assert verdicts_on(graded)[0].where == Where("adapters.py", 2)
    assert {test.status for test in verdicts_on(graded)} == {Status.TIMEOUT}
    assert "    import os, signal, stat" in verdicts_on(graded)[0].message


def test_the_message_about_an_endless_loop_names_its_line(grade):
    """Tests that no longer call the function name the line too: there is one cause in all."""
    graded = grade(f"def run_double(x):\n{LOOP}{RIGHT_COUNT}")
    verdicts = verdicts_on(graded)
    (where,) = {test.where for test in verdicts}
    assert where in (Where("adapters.py", 3), Where("adapters.py", 4))
    said = rf"after {A_CALL} s still running adapters\.py:{where.line}"
    source = {3: "while True:", 4: "n += 1"}[where.line]
    rest = "Does it end at all? Look at what the loops and calls around this line wait for."
    first, second, third = (test.message for test in verdicts[:3])
    assert re.match(f"{said}\n", first)
    assert first.endswith(f"\n    {source}\n{rest}")
    assert re.match(f"{said}, as before\n", second)
    assert re.match(f"{re.escape(f'run_double{NOT_CALLED}')}{said}\n", third)
    assert {test.status for test in verdicts_on(graded, "run_count")} == {Status.PASSED}
    (cause,) = causes(FailedTest.of(test) for test in verdicts)
    assert re.fullmatch(f"run_double: {said}", cause.headline)
    (excerpt,) = graded.evidence.excerpts
    assert (excerpt.file, excerpt.first) == ("adapters.py", 1)


HANGS = {
    "a loop in C": "    return sum(iter(int, 1))\n",
    "a long number": "    return len(str(7 ** 10**8))\n",
    "asleep": "    time.sleep(1000)\n",
    "stubborn": """
    while True:
        try: time.sleep(0.01)
        except BaseException: pass
""",
    "another thread": "    Thread(target=threading.Event().wait).run()\n",
    "printing": "    while True: print('and on')\n",
    "signals blocked": """
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    while True: pass
""",
}


@pytest.mark.parametrize("body", rest_slow(HANGS.values(), 2), ids=HANGS)
def test_the_running_line_is_found_whatever_keeps_the_worker_busy(grade, body):
    """The line is found even if Python's interpreter does not run any code meanwhile."""
    above = "import signal, threading, time\nfrom threading import Thread\n\n"
    graded = grade(f"{above}def run_double(x):\n{body}{RIGHT_COUNT}")
    first = verdicts_on(graded)[0]
    assert first.status is Status.TIMEOUT
    assert first.where is not None
    assert first.where.line in (5, 6, 7, 8)


def test_the_running_line_is_a_line_of_the_submission(grade):
    """For a wait inside a library, the line is the submission's call to it, in any file."""
    module = "import queue\n\ndef wait():\n    queue.Queue().get()\n"
    files = {
        "adapters.py": "from löwe.mähne import wait\n\ndef run_double(x):\n    wait()\n",
        "löwe/mähne.py": module,
    }
    assert verdicts_on(grade(files))[0].where == Where("löwe/mähne.py", 4)


def test_exercises_that_hang_in_one_helper_have_one_cause(grade):
    """A loop may be stopped at any of its lines, so the first line found is reported each time."""
    text = f"def turn(x):\n{LOOP}\ndef run_double(x):\n    turn(x)\n\nrun_count = run_double\n"
    graded = grade(text)
    assert len({test.where for test in graded.tests}) == 1
    (cause,) = causes(FailedTest.of(test) for test in graded.tests)
    assert "still running adapters.py:" in cause.headline


def test_each_hang_has_its_own_line(grade):
    """The line of the first hang is not repeated for the second."""
    text = "def run_double(x):\n    while True: pass\n\ndef run_count(x):\n    while True: pass\n"
    graded = grade(text)
    assert {test.where.line for test in verdicts_on(graded)} == {2}
    assert {test.where.line for test in verdicts_on(graded, "run_count")} == {5}


def test_the_message_shows_output_printed_before_the_hang(grade):
    """The last output is shown, as for any other failed call."""
    graded = grade("def run_double(x):\n    print('here')\n    while True: pass\n")
    assert verdicts_on(graded)[0].where == Where("adapters.py", 3)
    assert verdicts_on(graded)[0].message.endswith("Printed just before:\n    | here")


def test_the_message_about_an_endless_import_names_its_line(grade):
    """The message of the whole grade names the line."""
    graded = grade(f"import time\n\nwhile True:\n    time.sleep(0.1)\n{RIGHT_COUNT}")
    assert graded.status is GradeStatus.UNREADABLE
    headline, line, *_ = graded.message.splitlines()
    said = r"it cannot be imported: after (3|15) s still running adapters\.py:4"
    assert re.fullmatch(rf"{said} \(the submission has 3 s in all\)", headline)
    assert line.strip() == "time.sleep(0.1)"
    assert {test.where for test in graded.tests} == {Where("adapters.py", 4)}
    assert graded.unexplained is None


def test_the_running_line_is_found_in_a_notebook(grade):
    """The line is found in a cell as in any other file."""
    source = f"def run_double(x):\n{LOOP}{RIGHT_COUNT}"
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [cell | {"source": source.splitlines(keepends=True)}]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    graded = grade({"answers.ipynb": json.dumps(notebook)})
    assert verdicts_on(graded)[0].where is not None
    assert verdicts_on(graded)[0].message.splitlines()[1].strip() in ("while True:", "n += 1")


def test_the_coordinator_names_the_submissions_that_it_waits_for(hasty, tmp_path):
    """After a silence the coordinator names the submissions in progress, but no graded ones."""
    settings = Settings(str(hasty), 1, (), "adapters.py", 3.0, 512, "suite")
    text = f"def run_double(x):\n{LOOP}{RIGHT_COUNT}"
    tasks = [
        Task(Entry(name, write_files(tmp_path / name, {"adapters.py": program})), place, "hash", "")
        for place, (name, program) in enumerate({"bob": RIGHT, "alice": text}.items())
    ]
    said: list[str] = []
    with Coordinator(settings, 1, say=said.append, silent_seconds=0.2) as coordinator:
        graded = [one.task.entry.name for one in coordinator.grade(tasks)]
    assert graded == ["bob", "alice"]
    assert re.fullmatch(r"still waiting for alice \(\d+ s\)", said[-1])
