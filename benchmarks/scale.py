"""The cost of one more submission in classes of growing size: time, memory, resuming, a second job.

The submissions are copies of right ones. Each differs in a comment, so that none counts as graded
before. Only one exercise is graded. It needs the same worker, imports and judge as all exercises,
but a fifth of the time, so that a thousand submissions need only minutes.

  graded    `grader batch --no-explain --jobs 1` over 100 and 1,000.
  replayed  the same command over 100, 1,000 and 10,000, with a judge that repeats recorded grades
            at once (`benchmarks/replay.py`). Everything but the judging is real, so that the
            coordinator's cost shows.
  resumed   `grader batch` itself, over the 10,000 finished ones.
  two jobs  `grader batch --jobs 2` over 200, between two runs with one job. The figure is
            meaningful only on an idle machine.

Times are for one more submission: the time of a class of ten is subtracted. With `--full`, all
exercises are graded, and all 10,000 submissions for real, which takes hours.

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
    """A folder for classes and results, and the graded exercises (an empty list means all)."""

    folder: Path
    exercises: Sequence[str]

    def submissions(self, count: int) -> Path:
        """Returns the folder of a class of this size."""
        folder = self.folder / f"class-{count}"
        return folder if folder.exists() else copies_of(RIGHT, folder, count)

    def batch(self, command: Sequence[object], count: int, name: str, jobs: int = 1) -> Watched:
        """Returns the cost of a batch over a class of this size; its results get this name."""
        options = [word for exercise in self.exercises for word in ("--exercise", exercise)]
        out = self.folder / f"{name}-{count}"
        class_and_out = [self.submissions(count), "--out", out, "--jobs", jobs, "--seed", 1]
        return watched([*command, *class_and_out, *options])

    def replaying(self) -> list[object]:
        """Records the grades of a small class; returns the command that repeats them."""
        grades = self.folder / "grades.jsonl"
        program = [sys.executable, ROOT / "benchmarks" / "replay.py"]
        watched([*program, "record", grades, self.submissions(FEW), *self.exercises])
        return [*program, "batch", grades]


def main() -> None:
    """Prints the figures, and whether each goal is met."""
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
    """Returns the costs of classes by size; prints whether time for one more stays flat.

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
    """Returns the mean processor time of several runs, in seconds."""
    return statistics.mean(run.cpu for run in runs)


def two_jobs(bench: Bench) -> None:
    """Prints the speed of two jobs against one, which is measured before and after them."""
    before, two, after = (
        seconds_for_more(bench, jobs, f"jobs-{turn}") for turn, jobs in enumerate((1, 2, 1))
    )
    ratio = (before + after) / 2 / two
    says("two jobs against one", f"{ratio:.2f} times as fast", ratio >= TWO_JOBS)


def seconds_for_more(bench: Bench, jobs: int, name: str) -> float:
    """Returns the wall seconds of a class beyond those of a class of ten."""
    few, many = (bench.batch(REAL, count, name, jobs).wall for count in (FEW, SOME))
    return many - few


def resumed(bench: Bench) -> None:
    """Prints the time of a batch without work: the best of three, as files are then in memory."""
    name = f"replayed-{len(SIZES)}"  # the number of its turn among the sizes
    taken = [bench.batch(REAL, SIZES[-1], name) for _ in range(3)]
    wall, cpu = min(it.wall for it in taken), min(it.cpu for it in taken)
    says(f"resume over {SIZES[-1]:,}", f"{wall:.1f} s wall, {cpu:.1f} s cpu", wall <= SECONDS)


def memory(*measured: dict[int, Watched]) -> None:
    """Prints the coordinator's peak memory over all classes, the report included."""
    most = max(took.own for classes in measured for took in classes.values())
    job = max(took.below for took in measured[0].values())
    says("the coordinator's memory at most", f"{most:.0f} MB", most < MEGABYTES)
    print(f"{'':4}a job's at most {job:.0f} MB (judge, fork server and worker together)")


def says(what: str, found: str, holds: bool) -> None:
    """Prints a figure, and whether the goal is met."""
    print(f"{'ok  ' if holds else 'MISS'}{what}: {found}", flush=True)


if __name__ == "__main__":
    main()
