"""The memory, disk and time that hostile submissions take beyond their limits.

One job grades each hostile sample about limits, while another grades an honest submission that
computes for two seconds. The program prints four figures per sample:

- the honest submission's time, as a ratio to its time beside a submission that only sleeps;
- the honest submission's points;
- the memory and the disk that were taken beyond the limit, in percent of the limit.

Memory and disk are the largest drop on the whole machine, compared with the quiet turn. The program
measures them from outside, because no process accounts for some memory (page tables, buffers of
sockets). Other users of the machine therefore disturb the figures, and each figure is the median of
several rounds. If memory gets short, the program kills everything here.

    .venv/bin/python benchmarks/beyond_limits.py [SAMPLE...] [--rounds 3] [--memory 512]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.machine import description  # noqa: E402
from grader.core.assignment import Settings  # noqa: E402
from grader.core.verdict import Grade  # noqa: E402
from grader.grading.job.client import JobClient  # noqa: E402
from grader.grading.options import Task  # noqa: E402
from grader.intake.entry import Entry  # noqa: E402
from grader.sandbox.usage_watch import process_tree  # noqa: E402
from tests.harness.conftest import TINY, write_files  # noqa: E402
from tests.harness.hostile.ranks import ABOUT_LIMITS  # noqa: E402
from tests.harness.hostile.staging import (  # noqa: E402
    ALLOWED,
    COUNT,
    RIGHT,
    hand_in,
    lay_out,
    sample_files,
)

_BETWEEN_LOOKS, _SETTLING = 0.005, 0.5
_LEAST_AVAILABLE = 6 << 30
_SECONDS = 10.0
# The promises in percent of the limit, with control groups and without them.
_WITH_GROUPS, _WITHOUT_GROUPS, _SLOWER = 10.0, 100.0, 2.0
_HONEST = RIGHT["right_with_patience"] + COUNT
_SLEEPING = "import time\ntime.sleep(1.5)\n" + RIGHT["right_by_adding"] + COUNT


@dataclass(frozen=True)
class Taken:
    """The largest drop of the machine's free memory and disk, in bytes."""

    memory: float
    disk: float


@dataclass(frozen=True)
class Turn:
    """The grades of two submissions that were graded at the same time, and their cost."""

    hostile: Grade
    honest: Grade
    seconds: float
    taken: Taken


@dataclass(frozen=True)
class Cost:
    """The cost of a hostile submission: its neighbour's slowdown, and bytes above a quiet turn."""

    slower: float
    points: float
    memory: float
    disk: float

    @classmethod
    def of(cls, hostile: Turn, quiet: Turn) -> Cost:
        """Returns the difference between two turns."""
        return cls(
            hostile.seconds / quiet.seconds,
            hostile.honest.score / hostile.honest.max_score,
            hostile.taken.memory - quiet.taken.memory,
            hostile.taken.disk - quiet.taken.disk,
        )


class Watch:
    """A watch over the machine's memory and disk that kills everything before memory is short."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ended = threading.Event()
        self._lowest = self._look()
        threading.Thread(target=self._watch, daemon=True).start()

    @contextlib.contextmanager
    def taking(self) -> Iterator[Callable[[], Taken]]:
        """Yields a function that returns, afterwards, the largest drop during the block."""
        time.sleep(_SETTLING)
        before = self._lowest = self._look()
        yield lambda: Taken(before[0] - self._lowest[0], before[1] - self._lowest[1])

    def close(self) -> None:
        """Stops watching."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(_BETWEEN_LOOKS):
            memory, disk = self._look()
            self._lowest = (min(memory, self._lowest[0]), min(disk, self._lowest[1]))
            if memory < _LEAST_AVAILABLE:
                print(f"only {memory >> 20} MB of memory are left: all is killed", flush=True)
                for pid in reversed(process_tree(os.getpid())):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

    def _look(self) -> tuple[int, int]:
        told = Path("/proc/meminfo").read_text()
        available = int(told.partition("MemAvailable:")[2].split()[0]) * 1024
        room = os.statvfs(self._folder)
        return available, room.f_bfree * room.f_frsize


class Pair:
    """Two jobs that grade at the same time, each used by a thread of its own."""

    def __init__(self, settings: Settings, watch: Watch) -> None:
        self._watch = watch
        self._jobs = (JobClient(settings), JobClient(settings))
        self._threads = (ThreadPoolExecutor(1), ThreadPoolExecutor(1))

    def graded(self, hostile: Path, honest: Path) -> Turn:
        """Grades both submissions; returns the turn with their joint cost."""
        with self._watch.taking() as taken:
            started = time.monotonic()
            other = self._threads[0].submit(self._grade, 0, hostile)
            grade = self._threads[1].submit(self._grade, 1, honest).result()
            seconds = time.monotonic() - started
            return Turn(other.result(), grade, seconds, taken())

    def close(self) -> None:
        """Ends the jobs, in the threads that started them."""
        for thread, job in zip(self._threads, self._jobs, strict=True):
            thread.submit(job.close).result()
            thread.shutdown()

    def _grade(self, number: int, place: Path) -> Grade:
        return self._jobs[number].grade(Task(Entry(place.name, place), 0, "hash", ""))


def main() -> int:
    """Prints the table; returns 1 if a promise was broken."""
    asked = _asked()
    root = Path(tempfile.mkdtemp(prefix="beyond-limits-"))
    root.chmod(0o755)
    watch = Watch(root)
    print(f"{description()}\n{asked.memory} MB of memory, {ALLOWED.disk >> 20} MB of disk")
    try:
        return _measured(asked, root, watch)
    finally:
        watch.close()
        shutil.rmtree(root, ignore_errors=True)


def _measured(asked: argparse.Namespace, root: Path, watch: Watch) -> int:
    # A time limit must not hide a missing memory limit.
    patient = TINY["pyproject.toml"].replace("call_timeout = 2", f"call_timeout = {_SECONDS:.0f}")
    tiny = write_files(root / "tiny", TINY | {"pyproject.toml": patient})
    stage = lay_out(root, tiny, asked.samples.__contains__)
    # The samples stop a little beyond twice the limit that they are given.
    more = {"memory": asked.memory * 3 << 19, "disk": ALLOWED.disk * 3 >> 1, "busy_seconds": 6}
    hand_in(stage, more)
    honest, sleeping = root / "honest", root / "sleeping"
    write_files(root, {"honest/adapters.py": _HONEST, "sleeping/adapters.py": _SLEEPING})
    settings = Settings(
        str(stage.assignment), 1, (), "adapters.py", _SECONDS, asked.memory, "limits"
    )
    pair = Pair(settings, watch)
    try:
        pair.graded(sleeping, honest)  # warms everything up
        quiet = pair.graded(sleeping, honest)
        mine = quiet.hostile.isolation["memory"]
        allowed = _WITH_GROUPS if "group" in mine else _WITHOUT_GROUPS
        print(f"memory: {mine}; an honest one takes {quiet.seconds:.2f} s when all is quiet")
        print(f"{'':32} slower  points  memory    disk")
        held = True
        for name, sample in stage.samples.items():
            if sample in asked.samples:
                costs = [
                    Cost.of(quiet=pair.graded(sleeping, honest), hostile=pair.graded(place, honest))
                    for place in [stage.submissions / name] * asked.rounds
                ]
                held &= _tell(sample, costs, asked.memory << 20, allowed)
        return 0 if held else 1
    finally:
        pair.close()


def _tell(sample: str, costs: Sequence[Cost], memory: int, allowed: float) -> bool:
    """Prints a sample's line; returns whether every promise was kept."""
    slower = median(cost.slower for cost in costs)
    points = min(cost.points for cost in costs)
    # If files lie in memory, the disk limit adds to the memory limit.
    room = memory + (ALLOWED.disk if sample.startswith("disk") else 0)
    of_memory = 100 * (median(cost.memory for cost in costs) / room - 1)
    of_disk = 100 * (median(cost.disk for cost in costs) / ALLOWED.disk - 1)
    broken = {
        "memory": of_memory > allowed,
        "disk": of_disk > allowed,
        "time": slower > _SLOWER,
        "points": points < 1,
    }
    kept = not any(broken.values())
    verdict = (
        "held" if kept else f"BROKEN: {', '.join(it for it, is_so in broken.items() if is_so)}"
    )
    beyond = f"{max(0, of_memory):6.0f}% {max(0, of_disk):6.0f}%"
    print(f"{sample:32} {slower:5.2f}x {points:6.0%}  {beyond}  {verdict}", flush=True)
    return kept


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("samples", nargs="*", metavar="SAMPLE", help="beginnings of their names")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", type=int, default=ALLOWED.memory >> 20, help="megabytes")
    asked = parser.parse_args()
    asked.samples = _about_limits(tuple(asked.samples) or ABOUT_LIMITS)
    return asked


def _about_limits(beginnings: Sequence[str]) -> list[str]:
    """Returns the nuisances whose names have these beginnings."""
    return [
        name
        for name, path in sample_files().items()
        if path.parent.name == "nuisances" and name.startswith(tuple(beginnings))
    ]


if __name__ == "__main__":
    sys.exit(main())
