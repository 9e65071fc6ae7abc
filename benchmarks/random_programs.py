"""Grades random programs, and reports judges that ended and programs without a grade.

    .venv/bin/python benchmarks/random_programs.py [--count 1000] [--seed 1] [--jobs 2] \\
        [--timeout 30] [--keep FOLDER]

Program number N of seed S is the same everywhere. The output has the numbers of failed programs,
and `--keep` keeps them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.machine import description  # noqa: E402
from grader.core.folders import remove  # noqa: E402
from tests.harness.hostile.random_grading import Graded, graded  # noqa: E402

_SLOWEST = 10


def main() -> int:
    """Prints the outcomes, the slowest programs, and the grader's own faults."""
    asked = _asked()
    numbers = [asked.seed * 1_000_000 + place for place in range(asked.count)]
    folder = asked.keep or Path(tempfile.mkdtemp())
    done = []
    print(description(), flush=True)
    for one in graded(numbers, asked.jobs, asked.timeout, folder):
        done.append(one)
        if one.is_fault:
            print(f"FAULT {one.number}: {one.problem}", flush=True)
        elif asked.keep is None:
            remove(folder / f"program-{one.number}")
        if len(done) % 50 == 0:
            print(f"{len(done)} of {asked.count}", flush=True)
    _tell(done)
    if asked.keep is None:
        remove(folder)
    return any(one.is_fault for one in done)


def _tell(done: Sequence[Graded]) -> None:
    outcomes = Counter(str(one.grade.status) if one.grade else "judge ended" for one in done)
    tests = Counter(str(test.status) for one in done if one.grade for test in one.grade.tests)
    missing = Counter(one.missing for one in done if one.missing)
    print(f"programs: {dict(outcomes)}\ntests: {dict(tests)}\nmissing words: {dict(missing)}")
    for one in sorted(done, key=lambda one: -one.seconds - one.explaining)[:_SLOWEST]:
        both = f"{one.seconds:6.1f} s judged, {one.explaining:6.1f} s explained"
        print(f"{both}: program {one.number}")


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=30.0)
    parser.add_argument("--keep", type=Path, default=None)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
