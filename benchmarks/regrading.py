"""What grading a class again costs once a test was mended, beside grading it for the first time.

The class is a sample of the wrong programs in `benchmarks/slips.zip`, each of them another one. All
exercises are graded and explained. Then a test asks for another shape, and the same command is run
again, and once more with nothing changed. What starting costs, the command over a class of one, is
told beside them, not taken off.

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

MENDED = "tests/hidden/test_rope.py"
OLD, NEW = "draw(2, 12, d_k), torch.arange(12), theta", "draw(3, 12, d_k), torch.arange(12), theta"
SUBMISSIONS, SHARE = 60, 0.1


def main() -> None:
    """Prints the figures, and whether the aim holds."""
    count = int(sys.argv[1]) if sys.argv[1:] else SUBMISSIONS
    print(description())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        course = copied(folder / "course")
        many, one = a_class(folder / "class", count), a_class(folder / "one", 1)
        batch(course, one, folder / "warm")
        first = told(f"{count} graded and explained", batch(course, many, folder / "out"))
        told("one graded", batch(course, one, folder / "alone"))
        mend(course)
        again = told("the same with one test mended", batch(course, many, folder / "out"))
        told("the same with nothing changed", batch(course, many, folder / "out"))
    share = again.wall / first.wall
    holds = "holds" if share < SHARE else "DOES NOT HOLD"
    print(f"again in {share:.1%} of the first time; less than {SHARE:.0%}: {holds}")


def a_class(folder: Path, count: int) -> Path:
    """A class of so many wrong programs."""
    slips = load()
    for slip in slips[:: max(1, len(slips) // count)][:count]:
        build(slip, folder)
    return folder


def copied(course: Path) -> Path:
    """A copy of the bundled assignment, whose tests may be changed."""
    for part in SUITE:
        copy, source = course / part, ROOT / part
        copy.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, copy)
    return course


def mend(course: Path) -> None:
    """Changes what one test asks for."""
    file = course / MENDED
    text = file.read_text()
    assert OLD in text, f"{MENDED} holds no {OLD}"
    file.write_text(text.replace(OLD, NEW, 1))


def batch(course: Path, submissions: Path, out: Path) -> Watched:
    """What a batch takes."""
    command = [sys.executable, "-m", "grader", "batch", submissions, "--out", out, "--jobs", 2]
    return watched([*command, "--seed", 1, "--assignment", course])


def told(what: str, run: Watched) -> Watched:
    """Prints what a run took."""
    print(f"{what:<34}{run.wall:8.1f} s wall{run.cpu:8.1f} s cpu", flush=True)
    return run


if __name__ == "__main__":
    main()
