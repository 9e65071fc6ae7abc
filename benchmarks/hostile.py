"""The time of a class full of hostile submissions, as one `grader batch` with two jobs.

The submissions are those of `tests/harness/hostile`. The program prints the wall time beside the
sum of all time limits, the processor time, the tests' statuses, and the slowest submissions.

    .venv/bin/python benchmarks/hostile.py [--rank root] [--slowest 8]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.machine import description  # noqa: E402
from tests.harness.conftest import TINY, write_files  # noqa: E402
from tests.harness.hostile.batch import JOBS, TIMEOUT, Outcome, graded  # noqa: E402
from tests.harness.hostile.ranks import rank  # noqa: E402

_HOSTILE = ("forgeries", "nuisances", "spies", "odd")


def main() -> int:
    """Prints the figures; returns the exit code of the batch."""
    asked = _asked()
    root = Path(tempfile.mkdtemp(prefix="hostile-"))
    root.chmod(0o755)
    try:
        tiny = write_files(root / "tiny", TINY)
        outcome = graded(root, tiny, rank(asked.rank, root))
        _tell(outcome, asked.slowest)
        return outcome.code
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _tell(outcome: Outcome, slowest: int) -> None:
    rows = outcome.rows.values()
    statuses = Counter(test["status"] for row in rows for test in row["tests"])
    print(f"{description()}\nisolation: {outcome.isolation}")
    print(f"{len(rows)} submissions, {len(list(outcome.rows_of(_HOSTILE)))} of them hostile")
    print(f"{outcome.seconds:.1f} s on the wall; all limits: {len(rows) * TIMEOUT / JOBS:.1f} s")
    print(f"{outcome.processor:.1f} s of processor time")
    print(f"tests: {dict(statuses)}")
    for row in sorted(rows, key=lambda row: -row["duration_s"])[:slowest]:
        print(f"{row['duration_s']:8.2f} s  {row['submission']}")


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rank", default="root", help="as whom (tests/harness/hostile/ranks.py)")
    parser.add_argument("--slowest", type=int, default=8)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
