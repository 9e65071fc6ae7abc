"""Explains a class with repeated mistakes, and compares its time with that of grading.

    .venv/bin/python benchmarks/explaining.py [--mistakes 60] [--times 5] [--jobs 2]

Each wrong program from `benchmarks/slips.zip` has several copies. Some are exact, and some have
other comments, as in a class that copies or works together.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.machine import description  # noqa: E402
from benchmarks.slips_corpus import Slip, build, load  # noqa: E402
from grader.core.folders import remove  # noqa: E402
from grader.results.results import Results  # noqa: E402
from grader.results.store import Store  # noqa: E402


def main() -> int:
    """Prints both times, and the cost of repairs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mistakes", type=int, default=60)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    slips = [slip for slip in load() if not slip.aside and not slip.raises]
    chosen = random.Random(0).sample(slips, asked.mistakes)
    print(description())
    with tempfile.TemporaryDirectory() as scratch:
        _tell(Path(scratch), chosen, asked.times, asked.jobs)
    return 0


def _tell(scratch: Path, slips: Sequence[Slip], times: int, jobs: int) -> None:
    programs, out = scratch / "programs", scratch / "out"
    programs.mkdir()
    for number in range(times):
        for slip in slips:
            built = build(slip, programs)
            if number % 2:
                _comment(built, number)
            built.rename(programs / f"{number}-{built.name}")
    graded = _timed("batch", programs, "--out", out, "--no-explain", "--seed", 1, "--jobs", jobs)
    explained = _timed("explain", out, "--jobs", jobs)
    print(f"{len(slips) * times} submissions, {len(slips)} mistakes")
    print(f"graded in {graded}, explained in {explained}: ", end="")
    print(f"{explained.seconds / graded.seconds:.2f} times as long, ", end="")
    print(f"{explained.of_processors / graded.of_processors:.2f} times the processors")
    _tell_costs(Store.read(out), [path.name for path in programs.iterdir()])
    remove(programs)


@dataclass(frozen=True, slots=True)
class Taken:
    """The wall time of a command, and the processor time of it and all its children, in seconds."""

    seconds: float
    of_processors: float

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s ({self.of_processors:.1f} s of processors)"


def _timed(*arguments: object) -> Taken:
    """Returns the time of a command of the grader."""
    started, used = time.perf_counter(), _used()
    command = [sys.executable, "-m", "grader", *map(str, arguments)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return Taken(time.perf_counter() - started, _used() - used)


def _used() -> float:
    """Returns the processor seconds of all children that have ended so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _tell_costs(results: Results, names: Sequence[str]) -> None:
    grades = list(results.grades_of(names, whole=True))
    # Exact copies repeat a submission's repairs with their costs: each set counts once.
    spent = [
        (sum(one.seconds for one in repairs), sum(one.edits for one in repairs))
        for repairs in {grade.evidence.repairs for grade in grades}
        if any(one.edits for one in repairs)
    ]
    seconds = sorted(seconds for seconds, _ in spent)
    print(
        f"repaired again {len(spent)} times: median {statistics.median(seconds):.2f} s of its "
        f"process, nine tenths under {seconds[int(0.9 * (len(seconds) - 1))]:.2f} s, "
        f"{statistics.median(edits for _, edits in spent):.0f} edits"
    )


def _comment(program: Path, number: int) -> None:
    """Adds another comment to a program's files."""
    for file in program.rglob("*.py"):
        text = file.read_text("utf-8")
        if not text.startswith('"""'):
            file.write_text(f"# version {number}\n{text}", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
