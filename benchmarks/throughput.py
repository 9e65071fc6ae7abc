"""The cost of grading a submission, beside its own pytest process and beside the bare calls.

Many copies of one submission, each with another comment, are

  (a) graded by `grader batch --jobs 1 --no-explain`, with isolation and everything else;
  (b) tested by a fresh `pytest` process for each copy, on the same suite, without isolation;
  (c) called in one warm process: the calls that the suite makes, nothing checked.

The program prints the seconds of processor and wall time for one more submission, and the ratios
b/a and a/c of the processor time. It does so for a right submission, for one full of mistakes, and
for a class of different right ones (without c).

It also prints the additional cost of `grader explain`, once for a repeated mistake and once for a
new one. Only ratios within one run count, because machines differ, are busy, and change their
speed. (b) and (c) are measured before and after each (a).

    .venv/bin/python benchmarks/throughput.py [COPIES]
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.copies import copies_of  # noqa: E402
from benchmarks.machine import description  # noqa: E402

CLASS = ROOT / "examples" / "class"
RIGHT, WRONG = ["alice-jones"], ["jonas-berg"]
ERRING = ["jonas-berg", "ines-pereira", "grace-oneill", "mei-tanaka", "hugo-martin"]
MIXED = ["alice-jones", "chen-wei", "dana-okafor", "elif-yilmaz", "farid-haddad", "bikram-thapa.py"]


@dataclass(frozen=True)
class Cost:
    """Seconds of one more submission."""

    cpu: float
    wall: float

    def __str__(self) -> str:
        return f"{1000 * self.cpu:8.1f} ms cpu {1000 * self.wall:8.1f} ms wall"


def main() -> None:
    """Prints the table."""
    copies = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    print(f"{description()}\n{copies} copies each")
    for what, names in (("right", RIGHT), ("full of mistakes", WRONG), ("right, mixed", MIXED)):
        single = [CLASS / names[0]] if len(names) == 1 else []
        bare, fresh = [*map(bare_calls, single)], [fresh_process(names[0])]
        batch = batched(names, copies)
        bare += map(bare_calls, single)
        fresh.append(fresh_process(names[-1]))
        print(f"\n{what}")
        print(f"(a) grader batch       {batch}")
        print(f"(b) a pytest process   {(b := mean(fresh))}   b/a {b.cpu / batch.cpu:5.1f}")
        if bare:
            print(f"(c) the bare calls     {(c := mean(bare))}   a/c {batch.cpu / c.cpu:5.1f}")
    one = explaining(WRONG, 1)
    print("\nwords")
    print(f"a mistake like another {per(explaining(WRONG, 1 + copies), one, copies)}")
    print(f"a mistake of its own   {per(explaining(ERRING, len(ERRING)), one, len(ERRING) - 1)}")


def mean(costs: Sequence[Cost]) -> Cost:
    """Returns the mean of several costs."""
    count = len(costs)
    return Cost(sum(cost.cpu for cost in costs) / count, sum(cost.wall for cost in costs) / count)


def batched(names: Sequence[str], copies: int) -> Cost:
    """Returns (a), the difference between a large and a small class, without the starting cost."""
    few = max(copies // 10, 2 * len(names))
    small, large = (graded_and_explained(names, n)[0] for n in (few, few + copies))
    return per(large, small, copies)


def explaining(names: Sequence[str], copies: int) -> Cost:
    """Returns the cost of explaining this number of graded copies."""
    return graded_and_explained(names, copies, explain=True)[1]


def per(large: Cost, small: Cost, more: int) -> Cost:
    """Returns the mean cost of each additional submission."""
    return Cost((large.cpu - small.cpu) / more, (large.wall - small.wall) / more)


def graded_and_explained(
    names: Sequence[str], copies: int, explain: bool = False
) -> tuple[Cost, Cost]:
    """Returns the costs of grading and of explaining this number of copies, which all differ."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        submissions = copies_of([CLASS / it for it in names], folder / "submissions", copies)
        grader = [sys.executable, "-m", "grader"]
        batch = [*grader, "batch", submissions, "--out", folder / "out", "--jobs", "1"]
        verdicts = measured(lambda: run([*batch, "--seed", "1", "--no-explain"], ROOT))
        words = Cost(0.0, 0.0)
        if explain:
            words = measured(lambda: run([*grader, "explain", folder / "out", "--jobs", "1"], ROOT))
        return verdicts, words


def fresh_process(name: str) -> Cost:
    """Returns (b), the cost of a pytest process in a folder with the suite and a submission."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for part in ("tests/public", "tests/hidden", "tests/conftest.py", "solutions"):
            target = folder / part
            target.parent.mkdir(parents=True, exist_ok=True)
            source = ROOT / part
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)
        shutil.copyfile(ROOT / "pyproject.toml", folder / "pyproject.toml")
        source = CLASS / name
        if source.is_dir():
            shutil.copytree(source, folder, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, folder / "adapters.py")
        place = next(path for path in folder.rglob("adapters.py"))
        if place.parent != folder:  # a repository has its adapters beside its tests
            shutil.copyfile(place, folder / "adapters.py")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        return measured(lambda: run([*command, "tests/public", "tests/hidden"], folder, 1))


def bare_calls(submission: Path, times: int = 20) -> Cost:
    """Returns (c), the cost of the suite's calls to the submission in a process of their own."""
    command = [sys.executable, str(Path(__file__).with_name("bare_calls.py"))]
    printed = run([*command, str(submission), str(times)], ROOT)
    cpu, wall = map(float, printed.split())
    return Cost(cpu, wall)


def measured(do: Callable[[], object]) -> Cost:
    """Returns the processor time of this process's children, and the wall time."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    do()
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - started
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, wall)


def run(command: Sequence[object], folder: Path, most: int = 0) -> str:
    """Returns a command's output; ends this program if the exit code is above `most`."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode > most:
        sys.exit(f"{command} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    main()
