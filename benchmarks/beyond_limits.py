"""What hostile submissions get beyond their limits, and what that costs an honest neighbour.

Each hostile sample about limits is graded in one job while an honest submission, which computes for
two seconds, is graded in another. Printed are the honest one's time as a ratio to its quiet time,
beside a submission that only sleeps and just before; its points; and the memory and the disk that
were taken beyond the limit, in percent of it: what the machine had less of at most, than on the
quiet turn. That is counted from outside, for the whole machine, since some memory is on nobody's
account (page tables, what lies in sockets). So others who work on it disturb: the median of several
rounds is told. If memory gets short, everything here is killed.

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
from grader.intake.entry import Entry  # noqa: E402
from grader.sandbox.usage_watch import family  # noqa: E402
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
# What is promised: in percent of the limit where control groups keep it, and where they do not.
_WITH_GROUPS, _WITHOUT_GROUPS, _SLOWER = 10.0, 100.0, 2.0
_HONEST = RIGHT["right_with_patience"] + COUNT
_SLEEPING = "import time\ntime.sleep(1.5)\n" + RIGHT["right_by_adding"] + COUNT


@dataclass(frozen=True)
class Taken:
    """How many bytes the machine had less of at most."""

    memory: float
    disk: float


@dataclass(frozen=True)
class Turn:
    """What came of two submissions that were graded at the same time."""

    hostile: Grade
    honest: Grade
    seconds: float
    taken: Taken


@dataclass(frozen=True)
class Cost:
    """What a hostile submission costs: how much slower another is, and bytes above a quiet turn."""

    slower: float
    points: float
    memory: float
    disk: float

    @classmethod
    def of(cls, hostile: Turn, quiet: Turn) -> Cost:
        """The difference between two turns."""
        return cls(
            hostile.seconds / quiet.seconds,
            hostile.honest.score / hostile.honest.max_score,
            hostile.taken.memory - quiet.taken.memory,
            hostile.taken.disk - quiet.taken.disk,
        )


class Watch:
    """Looks at the machine's memory and disk as fast as it can, and ends all before it is short."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ended = threading.Event()
        self._lowest = self._look()
        threading.Thread(target=self._watch, daemon=True).start()

    @contextlib.contextmanager
    def taking(self) -> Iterator[Callable[[], Taken]]:
        """Tells afterwards what was taken inside at most."""
        time.sleep(_SETTLING)
        before = self._lowest = self._look()
        yield lambda: Taken(before[0] - self._lowest[0], before[1] - self._lowest[1])

    def close(self) -> None:
        """Looks no more."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(_BETWEEN_LOOKS):
            memory, disk = self._look()
            self._lowest = (min(memory, self._lowest[0]), min(disk, self._lowest[1]))
            if memory < _LEAST_AVAILABLE:
                print(f"only {memory >> 20} MB of memory are left: all is killed", flush=True)
                for pid in reversed(family(os.getpid())):
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
        """Both, and what they took together."""
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
        return self._jobs[number].grade(Entry(place.name, place), "hash")


def main() -> int:
    """Prints the table; 1 if some promise was not kept."""
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
    # Here no limit of time may hide that there is none of memory.
    patient = TINY["pyproject.toml"].replace("call_timeout = 2", f"call_timeout = {_SECONDS:.0f}")
    tiny = write_files(root / "tiny", TINY | {"pyproject.toml": patient})
    stage = lay_out(root, tiny, asked.samples.__contains__)
    # They stop at twice what they are told that they may have, and a little.
    more = {"memory": asked.memory * 3 << 19, "disk": ALLOWED.disk * 3 >> 1, "busy_seconds": 6}
    hand_in(stage, more)
    honest, sleeping = root / "honest", root / "sleeping"
    write_files(root, {"honest/adapters.py": _HONEST, "sleeping/adapters.py": _SLEEPING})
    settings = Settings(
        str(stage.assignment), 1, (), "adapters.py", _SECONDS, asked.memory, "limits"
    )
    pair = Pair(settings, watch)
    try:
        pair.graded(sleeping, honest)  # and all is warm
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
    """Prints the line of a sample; whether everything that is promised was kept."""
    slower = median(cost.slower for cost in costs)
    points = min(cost.points for cost in costs)
    # Where files lie in memory, what a sample may take of the disk comes on top of its memory.
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
    """The nuisances whose names begin so."""
    return [
        name
        for name, path in sample_files().items()
        if path.parent.name == "nuisances" and name.startswith(tuple(beginnings))
    ]


if __name__ == "__main__":
    sys.exit(main())
