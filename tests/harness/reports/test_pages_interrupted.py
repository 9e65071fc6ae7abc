"""A report that cannot be written, or is interrupted, leaves nothing behind."""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from grader.reports.pages.report import write_report
from grader.results.database import StoreError
from grader.results.store import Store
from tests.harness.conftest import ROOT
from tests.harness.pages_fixtures import a_class, store_class
from tests.harness.waiting import until

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
    write_report(Store.read(results), folder)
except NotWritten as refusal:
    sys.exit(str(refusal))
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a class whose pages take a second."""
    return store_class(tmp_path_factory.mktemp("results"), a_class(COUNT))


@pytest.fixture
def writing(results: Path, tmp_path: Path) -> Callable[[int], psutil.Popen]:
    """A function that starts a process that writes the report, with a limit on a file's size."""

    def start(largest_file: int = 0) -> psutil.Popen:
        arguments = (str(results), str(tmp_path / "pages"), str(largest_file))
        return psutil.Popen(
            [sys.executable, "-c", WRITING, *arguments],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def test_a_full_disk_is_reported_in_one_sentence(writing, tmp_path):
    """The files that were already written are removed."""
    running = writing(largest_file=12_000)
    _, told = running.communicate()
    assert told == f"the report cannot be written to {tmp_path}/pages: File too large\n"
    assert not [*tmp_path.iterdir()]


@pytest.mark.unit
def test_damaged_results_are_reported_in_one_sentence(tmp_path):
    """The damage lies where only the pages of submissions read."""
    results = store_class(tmp_path / "results", a_class(3))
    with sqlite3.connect(results / "results.sqlite") as database:
        database.execute("DROP TABLE suite")
    with pytest.raises(StoreError, match=r"results\.sqlite cannot be read: no such table"):
        write_report(Store.read(results), tmp_path / "pages")
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_ctrl_c_leaves_no_page_behind(writing, tmp_path):
    """Not even one page of a half-written report remains."""
    running = writing()
    until(lambda: [*tmp_path.glob("**/submissions/*")], "pages are written", pause=0.005)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate()
    assert running.returncode == -signal.SIGINT
    assert told.count("Traceback") == 1
    assert not [*tmp_path.iterdir()]
