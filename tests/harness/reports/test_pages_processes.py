"""A large class's pages are written by several processes, of which nothing is seen or left."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from grader.core.verdict import Grade
from grader.reports.pages.changes import Changes
from grader.reports.pages.class_data import ClassData
from grader.reports.pages.graded import Graded
from grader.reports.pages.report import write_report
from grader.results.database import StoreError
from grader.results.decisions.opening import open_settling
from grader.results.store import Store
from tests.harness.conftest import ROOT
from tests.harness.pages_fixtures import a_class, regraded, store_class
from tests.harness.waiting import PATIENCE, until

pytestmark = pytest.mark.process

COUNT = 130
WRITING = """
import resource, sys
from pathlib import Path
from grader.reports.pages.rendering import NotWritten
from grader.reports.pages.report import write_report
from grader.results.store import Store
results, folder, largest_file = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
if largest_file:
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
try:
    write_report(Store.read(results), folder, processes=2)
except NotWritten as refusal:
    sys.exit(str(refusal))
"""


def uneven(grades: Sequence[Grade]) -> Iterator[Grade]:
    """The class, of which some were graded when there were fewer tests, or in another order."""
    for number, grade in enumerate(grades):
        if number < len(grades) // 2:
            yield replace(grade, tests=grade.tests[17:])
        else:
            yield replace(grade, tests=grade.tests[:: -1 if number % 3 else 1])


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The results of a class before and after a test was mended; some left, some are new."""
    return two_batches(tmp_path_factory.mktemp("batches"), COUNT)


@pytest.fixture(scope="module")
def small_batches(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same of a small class."""
    return two_batches(tmp_path_factory.mktemp("small-batches"), 25)


def two_batches(folder: Path, count: int) -> tuple[Path, Path]:
    before, after = [*a_class(count)], [*uneven([*regraded(a_class(count))])]
    return store_class(folder / "before", iter(before[:-7])), store_class(
        folder / "after", iter(after[5:])
    )


def pages_of(folder: Path) -> dict[str, str]:
    """The pages by their names, but for the time at which they were written."""
    return {
        str(page.relative_to(folder)): re.sub(r"Written [-\d]+ [:\d]+", "", page.read_text())
        for page in sorted(folder.rglob("*.html"))
    }


def processes_of(process: psutil.Process) -> list[psutil.Process]:
    """Those that it has started, as soon as there are two."""

    def started() -> list[psutil.Process]:
        assert process.status() != psutil.STATUS_ZOMBIE
        found = process.children(recursive=True)
        return found if len(found) >= 2 else []

    return until(started, "two processes write", pause=0.005)


@pytest.fixture
def writing(batches: tuple[Path, Path], tmp_path: Path) -> Callable[[int], psutil.Popen]:
    """Starts a process that has two others write the report, no file of it beyond a size."""

    def start(largest_file: int = 0) -> psutil.Popen:
        arguments = (str(batches[1]), str(tmp_path / "pages"), str(largest_file))
        return psutil.Popen(
            [sys.executable, "-c", WRITING, *arguments],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    return start


def test_the_pages_are_the_same_however_many_processes_write_them(batches, tmp_path):
    """To the byte, the page of the class and that of what changed included."""
    before, after = map(Store.read, batches)
    written = {
        count: write_report(after, tmp_path / str(count), before, processes=count)
        for count in (1, 3)
    }
    alone, together = (pages_of(report.index.parent) for report in written.values())
    assert len(alone) == COUNT - 5 + 2
    assert alone == together
    assert written[1].changes == written[3].changes


@pytest.mark.unit
@pytest.mark.parametrize("length", [1, 7, 18])
def test_stretches_make_up_the_class(small_batches, length):
    """What was found in them, taken together, is what one look at all of it finds."""
    before, after = map(Store.read, small_batches)
    whole, changed = ClassData(), Changes()
    settling = open_settling(after)
    parts: list[tuple[ClassData, Changes]] = []
    for place, grade in enumerate(after.grades()):
        if place % length == 0:
            parts.append((ClassData(), Changes()))
        for found, changes in ((whole, changed), parts[-1]):
            graded = Graded.of(grade)
            found.add(graded, after.authors.get(grade.submission, ()), settling.settle(grade))
            changes.add(graded, before.grade(grade.submission))
    joined, joined_changes = ClassData(), Changes()
    for found, changes in parts:
        joined.extend(found)
        joined_changes.extend(changes)
    kinds = [*whole.counts.mistakes.values(), *whole.counts.others.values()]
    assert joined.columns(kinds) == whole.columns(kinds)
    assert joined.counts == whole.counts
    assert (joined.entries, joined.notes) == (whole.entries, whole.notes)
    assert [*joined.exercises.items()] == [*whole.exercises.items()]
    assert joined_changes == changed


@pytest.mark.unit
def test_a_small_class_needs_no_other_process(small_batches, tmp_path):
    """To start one takes longer than to write a few pages."""
    own = psutil.Process()
    seen = own.children(recursive=True)
    write_report(Store.read(small_batches[1]), tmp_path / "pages")
    spent = os.times()
    assert own.children(recursive=True) == seen
    assert spent.children_user == os.times().children_user


def test_a_disk_that_refuses_is_one_sentence(writing, tmp_path):
    """Whichever process met it; what was written until then is gone."""
    running = writing(largest_file=12_000)
    _, told = running.communicate()
    assert told == f"the report cannot be written to {tmp_path}/pages: File too large\n"
    assert not [*tmp_path.iterdir()]


@pytest.mark.unit
def test_results_that_cannot_be_read_are_one_sentence(tmp_path):
    """The file is damaged where only the other processes look."""
    results = store_class(tmp_path / "results", a_class(3))
    with sqlite3.connect(results / "results.sqlite") as database:
        database.execute("DROP TABLE verdict")
    with pytest.raises(StoreError, match=r"results\.sqlite cannot be read: no such table"):
        write_report(Store.read(results), tmp_path / "pages", processes=2)
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_a_process_that_is_lost_is_one_sentence(writing, tmp_path):
    """Killed for its memory, for instance; the other ones end."""
    running = writing()
    first, *others = processes_of(running)
    first.kill()
    _, told = running.communicate()
    assert re.fullmatch(r"the report cannot be .*: a process .* was lost \(SIGKILL\).*\n", told)
    assert psutil.wait_procs(others, PATIENCE)[1] == []
    assert not [*tmp_path.iterdir()]


def test_ctrl_c_leaves_nothing_behind(writing, tmp_path):
    """No process, no page of half a report."""
    running = writing()
    others = processes_of(running)
    os.killpg(running.pid, signal.SIGINT)
    _, told = running.communicate()
    assert running.returncode == -signal.SIGINT
    assert told.count("Traceback") == 1, "of the process that was told to stop, and of no other"
    assert psutil.wait_procs(others, PATIENCE)[1] == []
    assert not [*tmp_path.iterdir()]


def test_no_process_outlives_the_one_that_started_it(writing):
    """Whatever ends that, and however suddenly."""
    running = writing()
    others = processes_of(running)
    running.kill()
    assert running.communicate()[1] == ""
    assert psutil.wait_procs(others, PATIENCE)[1] == []
