"""The cost of hostile submissions for the judge itself: its memory, and its processor time.

One job grades every sample of `tests/harness/hostile`. The program prints the judge's largest
resident memory and its processor seconds, both above an honest submission's. The seconds are a
share of the submission's time limit. The promise is at most 150 MB and a quarter of the limit.

    .venv/bin/python benchmarks/judge_cost.py [SAMPLE...] [--most 12]
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.machine import description  # noqa: E402
from grader.core.assignment import Settings  # noqa: E402
from grader.grading.job.client import JobClient  # noqa: E402
from grader.grading.options import Task  # noqa: E402
from grader.intake.entry import Entry  # noqa: E402
from grader.sandbox.usage_watch import process_tree  # noqa: E402
from tests.harness.conftest import TINY, write_files  # noqa: E402
from tests.harness.hostile.batch import TIMEOUT  # noqa: E402
from tests.harness.hostile.listener import Listener  # noqa: E402
from tests.harness.hostile.staging import ALLOWED, RIGHT, hand_in, lay_out  # noqa: E402

_MEMORY, _SHARE = 150.0, 0.25
_TICKS = os.sysconf("SC_CLK_TCK")
_JUDGE = "a judge that has graded an honest submission"


@dataclass(frozen=True, slots=True)
class Cost:
    """The largest memory in megabytes, and seconds of processor time."""

    sample: str
    memory: float
    seconds: float

    def above(self, other: Cost) -> Cost:
        """Returns the difference from another cost."""
        return Cost(self.sample, self.memory - other.memory, self.seconds - other.seconds)


class WatchedJob:
    """A job that measures its judge's cost for each submission."""

    def __init__(self, settings: Settings) -> None:
        self._client = JobClient(settings)

    def grade(self, sample: str, place: Path) -> Cost:
        """Grades a submission; returns its cost for the judge."""
        before = self._judges()
        for pid in before:
            Path(f"/proc/{pid}/clear_refs").write_text("5")  # resets the peak memory
        self._client.grade(Task(Entry(place.name, place), 0, "hash", ""))
        after = self._judges()
        cost = [
            (most, seconds - before.get(pid, (0, 0.0))[1]) for pid, (most, seconds) in after.items()
        ]
        return Cost(sample, max(most for most, _ in cost), max(seconds for _, seconds in cost))

    def close(self) -> None:
        """Ends the job."""
        self._client.close()

    def _judges(self) -> dict[int, tuple[float, float]]:
        """Returns the peak megabytes and the seconds of each process with trusted code, by id."""
        found = {}
        for pid in process_tree(os.getpid())[1:]:
            try:
                command = Path(f"/proc/{pid}/cmdline").read_text()
                status = Path(f"/proc/{pid}/status").read_text()
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if "grader.grading.job.process" in command and "VmHWM:" in status:
                most = int(status.partition("VmHWM:")[2].split()[0]) / 1024
                found[pid] = (most, (int(fields[11]) + int(fields[12])) / _TICKS)
        return found


def main() -> int:
    """Prints the table; returns 1 if a sample costs more than promised."""
    asked = _asked()
    root = Path(tempfile.mkdtemp(prefix="judge-cost-"))
    root.chmod(0o755)
    try:
        costs = _measured(root, tuple(asked.samples))
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(f"{description()}\n{len(costs)} samples; above an honest submission:")
    costly = [one for one in costs if one.memory > _MEMORY or one.seconds > _SHARE * TIMEOUT]
    for title, order in (("memory", lambda one: -one.memory), ("time", lambda one: -one.seconds)):
        print(f"most {title}:")
        for one in sorted(costs, key=order)[: asked.most]:
            print(
                f"  {one.sample:36} {one.memory:7.0f} MB {one.seconds / TIMEOUT:7.0%} of the limit"
            )
    print(f"{len(costly)} cost more than promised")
    return 1 if costly else 0


def _measured(root: Path, beginnings: Sequence[str]) -> list[Cost]:
    stage = lay_out(
        root, write_files(root / "tiny", TINY), lambda name: name.startswith(beginnings or ("",))
    )
    with Listener(stage.listener, f"{stage.marker}-line") as listener:
        ports = {kind: listener.port(kind) for kind in ("tcp", "udp")}
        hand_in(stage, ports | {"unix": str(stage.listener), "abstract": f"{stage.marker}-line"})
        settings = Settings(
            str(stage.assignment), 7, (), "adapters.py", TIMEOUT, ALLOWED.memory >> 20, "cost"
        )
        honest = write_files(root / "honest", {"adapters.py": RIGHT["right_by_adding"]})
        job = WatchedJob(settings)
        try:
            job.grade(_JUDGE, honest)  # the first submission also draws the cases
            usual = job.grade(_JUDGE, honest)
            print(f"{_JUDGE}: {usual.memory:.0f} MB, {usual.seconds:.2f} s", flush=True)
            return [
                job.grade(sample, stage.submissions / name).above(usual)
                for name, sample in stage.samples.items()
                if sample not in RIGHT
            ]
        finally:
            job.close()


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("samples", nargs="*", metavar="SAMPLE", help="beginnings of their names")
    parser.add_argument("--most", type=int, default=12, help="lines of each table")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
