"""The cost of grading a class again after a fix of a test, beside the first grading.

The class is a sample of the wrong programs in `benchmarks/slips.zip`, all of them different. All
exercises are graded and explained. Then a test uses another shape, and the same command runs again,
and once more without any change. The cost of starting, a class of one, is printed beside these
figures and not subtracted.

    .venv/bin/python benchmarks/regrading.py [SUBMISSIONS]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.machine import description  # noqa: E402
from benchmarks.slips_corpus import build, load  # noqa: E402
from benchmarks.watched import Watched, watched  # noqa: E402
from grader.grading.fingerprints import SUITE  # noqa: E402

CHANGED = "tests/hidden/test_rope.py"
OLD, NEW = "draw(2, 12, d_k), torch.arange(12), theta", "draw(3, 12, d_k), torch.arange(12), theta"
SUBMISSIONS, SHARE = 60, 0.1


def main() -> None:
    """Prints the figures, and whether the goal is met."""
    count = int(sys.argv[1]) if sys.argv[1:] else SUBMISSIONS
    print(description())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        course = copied(folder / "course")
        many, one = a_class(folder / "class", count), a_class(folder / "one", 1)
        batch(course, one, folder / "warm")
        first = told(f"{count} graded and explained", batch(course, many, folder / "out"))
        told("one graded", batch(course, one, folder / "alone"))
        change_test(course)
        again = told("the same with one test fixed", batch(course, many, folder / "out"))
        told("the same with nothing changed", batch(course, many, folder / "out"))
    share = again.wall / first.wall
    holds = "holds" if share < SHARE else "DOES NOT HOLD"
    print(f"again in {share:.1%} of the first time; less than {SHARE:.0%}: {holds}")


def a_class(folder: Path, count: int) -> Path:
    """Writes a class of this number of wrong programs."""
    slips = load()
    for slip in slips[:: max(1, len(slips) // count)][:count]:
        build(slip, folder)
    return folder


def copied(course: Path) -> Path:
    """Copies the bundled assignment, so that its tests may change."""
    for part in SUITE:
        copy, source = course / part, ROOT / part
        copy.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, copy)
    return course


def change_test(course: Path) -> None:
    """Changes the shape in one test."""
    file = course / CHANGED
    text = file.read_text()
    assert OLD in text, f"{CHANGED} holds no {OLD}"
    file.write_text(text.replace(OLD, NEW, 1))


def batch(course: Path, submissions: Path, out: Path) -> Watched:
    """Returns the cost of a batch."""
    command = [sys.executable, "-m", "grader", "batch", submissions, "--out", out, "--jobs", 2]
    return watched([*command, "--seed", 1, "--assignment", course])


def told(what: str, run: Watched) -> Watched:
    """Prints and returns the cost of a run."""
    print(f"{what:<34}{run.wall:8.1f} s wall{run.cpu:8.1f} s cpu", flush=True)
    return run


if __name__ == "__main__":
    main()
