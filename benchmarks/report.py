"""The cost of a class's report: seconds to write, megabytes, seconds until the index is usable.

The class is made up (`tests/harness/pages_fixtures.py`): most of it is right in most exercises. Its
failures have pictures, steps and lines like those of a real batch. The index is usable when its
list has rows, its plots are drawn, and a search has found its target.

    .venv/bin/python benchmarks/report.py [SUBMISSIONS]
"""

from __future__ import annotations

import os
import platform
import resource
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from grader.reports.pages.report import write_report  # noqa: E402
from grader.results.store import Store  # noqa: E402
from tests.harness.pages_browser import chromium_executable, running_chromium  # noqa: E402
from tests.harness.pages_fixtures import a_class, store_class  # noqa: E402

DRAWN = "document.querySelector('#list tbody th a') && document.querySelector('#scores canvas')"


def main() -> None:
    """Prints the figures."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    print(f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as name:
        results = store_class(Path(name) / "results", a_class(count))
        cpu, wall = time.process_time(), time.perf_counter()
        index = write_report(Store.read(results), Path(name) / "report").index
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        print(f"{count} submissions written in {wall:.1f} s, {cpu:.1f} s of a processor's time")
        print(f"{peak_mb():.0f} MB of memory at most")
        files = [file for file in index.parent.rglob("*") if file.is_file()]
        size, own = sum(file.stat().st_size for file in files), index.stat().st_size
        print(f"{len(files)} files, {size / 1e6:.0f} MB; {index.name} {own / 1e6:.1f} MB")
        executable = chromium_executable()
        if executable is None:
            print("no chromium is installed: the index was not opened")
        else:
            print(f"index usable after {seconds_until_usable(index, executable):.2f} s")


def peak_mb() -> float:
    """Returns the peak memory of this process, in megabytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def seconds_until_usable(index: Path, executable: str) -> float:
    """Returns the time from opening the page to the answer of a search, the median of five."""
    taken = []
    with running_chromium(executable) as browser:
        for _ in range(5):
            # The questions to the page do not come from the page's own scripts, which its policy
            # requires.
            page = browser.new_page(viewport={"width": 1440, "height": 900}, bypass_csp=True)
            started = time.perf_counter()
            page.goto(index.as_uri(), wait_until="commit")
            page.wait_for_function(DRAWN)
            page.fill("#search", "mask-inverted")
            page.wait_for_function("!document.querySelector('#found').textContent.startsWith('0')")
            taken.append(time.perf_counter() - started)
            page.close()
    return sorted(taken)[len(taken) // 2]


if __name__ == "__main__":
    main()
