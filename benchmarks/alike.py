"""The ranks of disguised copies among independent programs, and the time for a large class.

    .venv/bin/python benchmarks/alike.py                three hundred programs and ten copies
    .venv/bin/python benchmarks/alike.py --large 1000   seconds for this number of submissions

Ten of the programs are copied: five that people wrote, and five that were generated. A copy is
renamed, commented, reordered and split over two files. Half of its products become `einsum`.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.alike_corpus import by_hand, disguised, independent  # noqa: E402
from grader.core.assignment import find_assignment  # noqa: E402
from grader.reports.similarity.comparison import SimilarPairs, compare  # noqa: E402
from grader.results.store import Store  # noqa: E402
from tests.harness.storing import store_submissions  # noqa: E402

PROGRAMS, COPIES = 300, 10


def laid_out(programs: Mapping[str, Mapping[str, str]], folder: Path) -> Path:
    """Writes the programs into a folder of submissions."""
    for name, files in programs.items():
        for path, text in files.items():
            (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / path).write_text(text, encoding="utf-8")
    return folder


def with_copies(seed: int) -> dict[str, dict[str, str]]:
    """Returns independent programs, and copies of ten of them under other names."""
    programs = independent(PROGRAMS)
    draw = random.Random(f"copied {seed}")
    # A disguise does not take notebooks apart.
    people = [n for n, files in by_hand().items() if all(path.endswith(".py") for path in files)]
    chosen = draw.sample(people, COPIES // 2)
    chosen += draw.sample([name for name in programs if name.startswith("student-")], COPIES // 2)
    copies = {
        f"copy-of-{name}": disguised(programs[name], 100 * seed + place)
        for place, name in enumerate(chosen)
    }
    return programs | copies


def compared(programs: Mapping[str, Mapping[str, str]], most: int) -> SimilarPairs:
    """Returns the comparison of a class of these programs."""
    with tempfile.TemporaryDirectory() as folder:
        assignment, place = find_assignment(ROOT), Path(folder)
        submissions = laid_out(programs, place / "class")
        results = store_submissions(submissions, place / "results", assignment.name)
        return compare(Store.read(results), assignment, most=most)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--large", type=int)
    chosen = parser.parse_args()
    if chosen.large:
        programs = independent(chosen.large)
        began = time.monotonic()
        compared(programs, 30)
        print(f"{chosen.large} submissions: {time.monotonic() - began:.0f} s")
        return
    for seed in range(chosen.seeds):
        pairs = compared(with_copies(seed), 60).pairs
        names = [{pair.one.name, pair.other.name} for pair in pairs]
        is_copy = [any(f"copy-of-{name}" in both for name in both) for both in names]
        ranks = [rank for rank, found in enumerate(is_copy, 1) if found]
        alike = [round(pair.pair.similarity, 2) for pair in pairs]
        lowest = min(a for a, found in zip(alike, is_copy, strict=True) if found)
        highest = max(a for a, found in zip(alike, is_copy, strict=True) if not found)
        print(
            f"seed {seed}: {len(ranks)} of {COPIES} copies found, at {ranks}; the least alike "
            f"{lowest}, the most alike that are independent {highest}",
            flush=True,
        )


if __name__ == "__main__":
    main()
