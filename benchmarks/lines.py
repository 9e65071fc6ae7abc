"""Tells how often the guilty line of a wrong program is told, and what finding it costs.

    .venv/bin/python benchmarks/lines.py [--half tuned|aside|both] [--raising] [--jobs 2] \\
        [--sample N] [--misses] [STYLE ...]

The programs are those of `benchmarks/slips.zip`, each a right submission with one slip. *Alone*:
the guilty line is all that is told; *of two*: one of the two lines between which nothing decides.
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
    """What was told of one wrong program: by lines told together, in how many tests."""

    slip: Slip
    grade: Grade
    lines: Counter[tuple[Line, ...]]

    @property
    def outcome(self) -> str:
        """How the guilty line was told, by what most of the wrong tests say."""
        if not self.lines:
            return NOTHING
        told = self.lines.most_common(1)[0][0]
        if not set(told) & set(self.slip.lines):
            return OTHER
        return ALONE if set(told) <= set(self.slip.lines) else OF_TWO

    @property
    def seconds(self) -> float:
        """What the submission's process took to be mended."""
        return sum(one.seconds for one in self.grade.evidence.repairs)


def told_of(slip: Slip, grade: Grade) -> Told:
    """What the words for a grade tell."""
    mended = {name: one.places for one in grade.evidence.repairs for name in one.exercises}
    lines: Counter[tuple[Line, ...]] = Counter()
    for test in grade.tests:
        if test.status in WRONG and test.where is not None:
            places = mended.get(test.exercise) or ((test.where.file, test.where.line),)
            lines[tuple(Line(*place) for place in places)] += 1
    return Told(slip, grade, lines)


def explained(slips: Sequence[Slip], jobs: int) -> list[Told]:
    """What is told of each of the wrong programs, after they were graded as a class."""
    with tempfile.TemporaryDirectory() as scratch:
        programs = Path(scratch, "programs")
        programs.mkdir()
        wrong = {build(slip, programs).name: slip for slip in slips}
        results = batch(programs, Path(scratch, "out"), assignment=ROOT, jobs=jobs, seed=1)
        grades = results.grades_of(wrong, whole=True)
        return [told_of(wrong[grade.submission], grade) for grade in grades]


def table(told: Iterable[Told], by: str) -> Iterable[str]:
    """How the guilty lines were told, by the programs' style or the slips' kind."""
    rows: dict[str, Counter[str]] = {}
    for one in told:
        rows.setdefault(getattr(one.slip, by), Counter())[one.outcome] += 1
    yield f"{by:<32}" + "".join(f"{name:>13}" for name in (ALONE, OF_TWO, OTHER, NOTHING))
    for name, row in sorted(rows.items()):
        counts = "".join(f"{row[outcome]:>13}" for outcome in (ALONE, OF_TWO, OTHER, NOTHING))
        yield f"{name:<32}{counts}"


def summary(told: Sequence[Told]) -> Iterable[str]:
    """The shares of all, and what they cost."""
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
    calls = sorted(sum(m.calls for m in one.grade.evidence.repairs) for one in told)
    tenth = int(0.9 * (len(told) - 1))
    yield (
        f"to mend one: median {statistics.median(seconds):.2f} s of its process, nine tenths under "
        f"{seconds[tenth]:.2f} s; {statistics.median(edits):.0f} edits ({edits[tenth]}), "
        f"{statistics.median(calls):.0f} calls ({calls[tenth]})"
    )


def misses(told: Iterable[Told]) -> Iterable[str]:
    """The programs of which no guilty line is told alone."""
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
