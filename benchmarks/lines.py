"""The share of wrong programs whose guilty line is named, and the cost of finding it.

    .venv/bin/python benchmarks/lines.py [--half tuned|aside|both] [--raising] [--jobs 2] \\
        [--sample N] [--misses] [STYLE ...]

The programs are those of `benchmarks/slips.zip`, each a right submission with one slip. *Alone*
means that only the guilty line is named. *Of two* means that it is one of two equally likely lines.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.machine import description  # noqa: E402
from benchmarks.slips_corpus import Line, Slip, build, load  # noqa: E402
from grader import Grade, batch  # noqa: E402
from grader.core.verdict import Status  # noqa: E402

WRONG = (Status.FAILED, Status.ERROR)
ALONE, OF_TWO, OTHER, NOTHING = "alone", "of two", "only others", "nothing"


@dataclass(frozen=True)
class Told:
    """The lines named for one wrong program: each set of lines with its number of tests."""

    slip: Slip
    grade: Grade
    lines: Counter[tuple[Line, ...]]

    @property
    def outcome(self) -> str:
        """How the guilty line was named by most of the wrong tests."""
        if not self.lines:
            return NOTHING
        told = self.lines.most_common(1)[0][0]
        if not set(told) & set(self.slip.lines):
            return OTHER
        return ALONE if set(told) <= set(self.slip.lines) else OF_TWO

    @property
    def seconds(self) -> float:
        """The seconds of the submission's process that its repairs took."""
        return sum(one.seconds for one in self.grade.evidence.repairs)


def told_of(slip: Slip, grade: Grade) -> Told:
    """Returns the lines that a grade's explanations name."""
    fixed = {name: one.places for one in grade.evidence.repairs for name in one.exercises}
    lines: Counter[tuple[Line, ...]] = Counter()
    for test in grade.tests:
        if test.status in WRONG and test.where is not None:
            places = fixed.get(test.exercise) or ((test.where.file, test.where.line),)
            lines[tuple(Line(*place) for place in places)] += 1
    return Told(slip, grade, lines)


def explained(slips: Sequence[Slip], jobs: int) -> list[Told]:
    """Returns the named lines of each wrong program, after the class was graded."""
    with tempfile.TemporaryDirectory() as scratch:
        programs = Path(scratch, "programs")
        programs.mkdir()
        wrong = {build(slip, programs).name: slip for slip in slips}
        results = batch(programs, Path(scratch, "out"), assignment=ROOT, jobs=jobs, seed=1)
        grades = results.grades_of(wrong, whole=True)
        return [told_of(wrong[grade.submission], grade) for grade in grades]


def table(told: Iterable[Told], by: str) -> Iterable[str]:
    """Yields a table of the outcomes by the programs' style or the slips' kind."""
    rows: dict[str, Counter[str]] = {}
    for one in told:
        rows.setdefault(getattr(one.slip, by), Counter())[one.outcome] += 1
    yield f"{by:<32}" + "".join(f"{name:>13}" for name in (ALONE, OF_TWO, OTHER, NOTHING))
    for name, row in sorted(rows.items()):
        counts = "".join(f"{row[outcome]:>13}" for outcome in (ALONE, OF_TWO, OTHER, NOTHING))
        yield f"{name:<32}{counts}"


def summary(told: Sequence[Told]) -> Iterable[str]:
    """Yields the shares of all outcomes, and their costs."""
    count = Counter(one.outcome for one in told)
    shares = ", ".join(
        f"{name} {count[name]} ({count[name] / len(told):.1%})"
        for name in (ALONE, OF_TWO, OTHER, NOTHING)
    )
    yield f"{len(told)} programs: {shares}"
    for why, number in Counter(one.grade.unexplained for one in told).items():
        if why is not None:
            yield f"{number} not wholly explained: {why}"
    named = sum(any(test.diagnosis for test in one.grade.tests) for one in told)
    at_all = (count[ALONE] + count[OF_TWO]) / len(told)
    yield f"told at all {at_all:.1%}; a mistake named for {named}"
    seconds = sorted(one.seconds for one in told)
    edits = sorted(sum(m.edits for m in one.grade.evidence.repairs) for one in told)
    tenth = int(0.9 * (len(told) - 1))
    yield (
        f"to repair one: median {statistics.median(seconds):.2f} s of its process, nine tenths "
        f"under {seconds[tenth]:.2f} s; {statistics.median(edits):.0f} edits ({edits[tenth]})"
    )


def misses(told: Iterable[Told]) -> Iterable[str]:
    """Yields the programs whose guilty line is not named alone."""
    for one in told:
        if one.outcome == ALONE:
            continue
        said = "; ".join(
            f"{count}x " + " | ".join(f"{line.file}:{line.number}" for line in lines)
            for lines, count in one.lines.most_common(3)
        )
        guilty = ", ".join(f"{line.file}:{line.number}" for line in one.slip.lines)
        yield f"{one.outcome:<12} {one.slip.id}\n    guilty {guilty}: {one.slip.wrong.strip()!r}"
        yield f"    right  {one.slip.right.strip()!r}\n    told   {said or 'nothing'}"


def main() -> int:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--half", choices=["tuned", "aside", "both"], default="tuned")
    parser.add_argument("--raising", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("styles", nargs="*", metavar="STYLE")
    asked = parser.parse_args()
    slips = [
        slip
        for slip in load(asked.styles)
        if slip.raises == asked.raising and asked.half in ("both", HALVES[slip.aside])
    ]
    if asked.sample:
        slips = random.Random(asked.sample).sample(slips, min(asked.sample, len(slips)))
    print(description())
    told = explained(slips, asked.jobs)
    for by in ("style", "kind"):
        print("\n".join(["", *table(told, by)]))
    if asked.misses:
        print("\n".join(["", *misses(told)]))
    print("\n".join(["", *summary(told)]))
    return 0


HALVES = {False: "tuned", True: "aside"}

if __name__ == "__main__":
    sys.exit(main())
