"""How the tests of each exercise ended, and the points that they carry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from grader.core.points import Gate, points_of

PASSED, MISSING = "passed", "missing"
_LESS_POINTS = "Without right values no points: the rest of an exercise counts as far as they are."


@dataclass(slots=True)
class ExerciseCounts:
    """How an exercise's tests ended, and the points that they carry, in hundredths."""

    outcomes: Counter[str] = field(default_factory=Counter)
    possible: int = 0
    _gate: Gate = field(default_factory=Gate)
    _others: int = 0

    def add(self, outcome: str, is_of_values: bool, worth: int) -> None:
        """One more test, with the hundredths that it carries."""
        self.outcomes[outcome] += 1
        self.possible += worth
        earned = worth if outcome == PASSED else 0
        if is_of_values:
            self._gate.add_values(earned, worth, outcome == PASSED)
        else:
            self._others += earned

    @property
    def points(self) -> int:
        """The hundredths that count."""
        return self._gate.right + self._gate.counted_of(self._others)

    @property
    def counts_less(self) -> bool:
        """Whether other points than those of the values were earned, and do not all count."""
        return self.points < self._gate.right + self._others

    @property
    def is_missing(self) -> bool:
        """Whether nothing of it is written."""
        return self.outcomes[MISSING] == self.outcomes.total()

    @property
    def is_right(self) -> bool:
        """Whether every test passed."""
        return self.outcomes[PASSED] == self.outcomes.total()

    def in_words(self) -> str:
        """The tests that passed, and the points."""
        if self.is_missing:
            return "not implemented yet"
        reached, carried = in_words(self.points), in_words(self.possible)
        points = f", {reached} of {carried} points" if self.possible else ""
        return f"{self.outcomes[PASSED]} of {self.outcomes.total()} passed{points}"


def table(tallies: Mapping[str, ExerciseCounts], all_rows: bool) -> Iterator[str]:
    """A line for each exercise; those that are right, or not written, in one unless `all_rows`."""
    shown = {
        name: tally
        for name, tally in tallies.items()
        if all_rows or not (tally.is_right or tally.is_missing)
    }
    width = max(map(len, shown), default=0)
    for name, tally in shown.items():
        yield f"{name:<{width}}  {tally.in_words()}"
    if all_rows:
        return
    right = [name for name, tally in tallies.items() if tally.is_right]
    missing = [name for name, tally in tallies.items() if tally.is_missing]
    if right:
        yield f"all tests passed: {', '.join(right)}"
    if missing:
        yield f"not implemented yet: {', '.join(missing)}"


def in_all(tallies: Mapping[str, ExerciseCounts]) -> Iterator[str]:
    """The points of all exercises, and what becomes of them in class."""
    carried = sum(tally.possible for tally in tallies.values())
    if not carried:
        return
    reached = sum(tally.points for tally in tallies.values())
    if any(tally.counts_less for tally in tallies.values()):
        yield _LESS_POINTS
    yield (
        f"{in_words(reached)} of the {in_words(carried)} points that these tests carry. "
        "Your course grades with more tests than these: other shapes, sizes and values."
    )


def in_words(number: int) -> str:
    """So many hundredths as points."""
    return f"{points_of(number):.10g}"
