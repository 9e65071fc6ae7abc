"""Whether more submissions cost more each: time, memory, resuming, and a second job.

The submissions are copies of right ones; each differs in a comment, so that nothing is taken for
graded. One exercise of the assignment is graded: that starts a worker, imports and judges like any
other, and takes a fifth of the time, so that a thousand can be graded while one waits.

  graded    `grader batch --no-explain --jobs 1` over 100 and 1,000.
  replayed  the same command over 100, 1,000 and 10,000, whose judge answers at once with grades
            that were given before (`benchmarks/replay.py`). Everything but the judging is real, and
            what the coordinator costs is not lost beside what judges do.
  resumed   `grader batch` itself, over the 10,000 finished ones.
  two jobs  `grader batch --jobs 2` over 200, between two runs with one job: it tells something on
            an idle machine only.

Times are of one more submission: what a class of ten takes is taken off. With `--full`, all
exercises are graded, and all 10,000 of them for real: hours.

    .venv/bin/python benchmarks/scale.py [--full]
"""

from __future__ import annotations

import itertools
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.copies import copies_of  # noqa: E402
from benchmarks.machine import description  # noqa: E402
from benchmarks.watched import Watched, watched  # noqa: E402

CLASS = ROOT / "examples" / "class"
RIGHT = [CLASS / name for name in ("alice-jones", "chen-wei", "dana-okafor")]
EXERCISE = "run_scaled_dot_product_attention"
FEW, SOME, SIZES = 10, 200, (100, 1000, 10_000)
FLAT, MEGABYTES, SECONDS, TWO_JOBS = 1.10, 300, 5.0, 1.8
REPEATS = 2
REAL = [sys.executable, "-m", "grader", "batch", "--no-explain"]


@dataclass(frozen=True)
class Bench:
    """A folder for classes and results, and the exercises that are graded (none stand for all)."""

    folder: Path
    exercises: Sequence[str]

    def submissions(self, count: int) -> Path:
        """The folder of a class of that size."""
        folder = self.folder / f"class-{count}"
        return folder if folder.exists() else copies_of(RIGHT, folder, count)

    def batch(self, command: Sequence[object], count: int, name: str, jobs: int = 1) -> Watched:
        """What a batch takes over a class of that size; results are kept under that name."""
        options = [word for exercise in self.exercises for word in ("--exercise", exercise)]
        out = self.folder / f"{name}-{count}"
        class_and_out = [self.submissions(count), "--out", out, "--jobs", jobs, "--seed", 1]
        return watched([*command, *class_and_out, *options])

    def replaying(self) -> list[object]:
        """The command that gives out grades which it was given before, once."""
        grades = self.folder / "grades.jsonl"
        program = [sys.executable, ROOT / "benchmarks" / "replay.py"]
        watched([*program, "record", grades, self.submissions(FEW), *self.exercises])
        return [*program, "batch", grades]


def main() -> None:
    """Prints the figures, and whether each aim holds."""
    full = "--full" in sys.argv[1:]
    print(description())
    print(f"one exercise, {EXERCISE}\n" if not full else "all exercises\n")
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), () if full else (EXERCISE,))
        graded = growth("graded", bench, REAL, SIZES if full else SIZES[:2])
        replayed = growth("replayed", bench, bench.replaying(), SIZES)
        two_jobs(bench)
        resumed(bench)
        memory(graded, replayed)


def growth(
    name: str, bench: Bench, command: Sequence[object], sizes: Sequence[int]
) -> dict[int, Watched]:
    """What classes of these sizes take, and whether time for one more stays flat.

    Small classes are graded before and after the large ones, since machines change their speed.
    """
    runs: dict[int, list[Watched]] = {size: [] for size in (FEW, *sizes)}
    for turn, size in enumerate([FEW, *sizes, *[FEW, sizes[0]] * REPEATS]):
        runs[size].append(bench.batch(command, size, f"{name}-{turn}"))
    few, seconds = runs[FEW], []
    for size in sizes:
        took = runs[size]
        seconds.append((mean_cpu(took) - mean_cpu(few)) / (size - FEW))
        print(
            f"{name:<9}{size:>7,}: {1000 * seconds[-1]:7.1f} ms cpu for one more; "
            f"coordinator {took[0].own:4.0f} MB, job {took[0].below:4.0f} MB",
            flush=True,
        )
    ratio = max(later / earlier for earlier, later in itertools.combinations(seconds, 2))
    says(f"time for one more, {name}", f"grows by {100 * ratio - 100:.0f} %", ratio <= FLAT)
    return {size: runs[size][0] for size in sizes}


def mean_cpu(runs: Sequence[Watched]) -> float:
    """The processor time of a run, in seconds."""
    return statistics.mean(run.cpu for run in runs)


def two_jobs(bench: Bench) -> None:
    """How much sooner two jobs are done than one, which is measured before and after them."""
    before, two, after = (
        seconds_for_more(bench, jobs, f"jobs-{turn}") for turn, jobs in enumerate((1, 2, 1))
    )
    ratio = (before + after) / 2 / two
    says("two jobs against one", f"{ratio:.2f} times as fast", ratio >= TWO_JOBS)


def seconds_for_more(bench: Bench, jobs: int, name: str) -> float:
    """Seconds of wall time that a class takes longer than ten of it."""
    few, many = (bench.batch(REAL, count, name, jobs).wall for count in (FEW, SOME))
    return many - few


def resumed(bench: Bench) -> None:
    """How long a batch takes that has nothing to do; the best of three, as files are in memory."""
    name = f"replayed-{len(SIZES)}"  # its turn among the sizes
    taken = [bench.batch(REAL, SIZES[-1], name) for _ in range(3)]
    wall, cpu = min(it.wall for it in taken), min(it.cpu for it in taken)
    says(f"resume over {SIZES[-1]:,}", f"{wall:.1f} s wall, {cpu:.1f} s cpu", wall <= SECONDS)


def memory(*measured: dict[int, Watched]) -> None:
    """The coordinator's memory over all classes, the report's writing included."""
    most = max(took.own for classes in measured for took in classes.values())
    job = max(took.below for took in measured[0].values())
    says("the coordinator's memory at most", f"{most:.0f} MB", most < MEGABYTES)
    print(f"{'':4}a job's at most {job:.0f} MB (judge, fork server and worker together)")


def says(what: str, found: str, holds: bool) -> None:
    """A line with a figure, and whether the aim holds."""
    print(f"{'ok  ' if holds else 'MISS'}{what}: {found}", flush=True)


if __name__ == "__main__":
    main()
