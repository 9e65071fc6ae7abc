"""The quality of tests: which ones may be faulty, and whether tolerances are sound."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.core.text import one_line, quantity
from grader.core.verdict import (
    Grade,
    GradeStatus,
    Measurement,
    Status,
    Verdict,
    by_exercise,
    name_of_test,
)

# A complaint needs so many submissions that tried the exercise, or that fail only this test.
_FEWEST_TRIED, _FEWEST_FAILED = 5, 3
_TRIED = (Status.PASSED, Status.FAILED, Status.ERROR, Status.TIMEOUT, Status.CRASHED)


@dataclass(slots=True)
class ExerciseTests:
    """The outcomes of one exercise's tests in a class.

    `failed` counts, by test, the submissions that fail it, among those that `tried` the exercise. A
    test without a verdict on a submission, or not graded, counts as passed. `only` counts, by test,
    the submissions that fail it and pass all others.
    """

    name: str
    failed: dict[str, int] = field(default_factory=dict)
    only: Counter[str] = field(default_factory=Counter)
    tried: int = 0

    def add(self, verdicts: Iterable[Verdict]) -> None:
        """Adds a submission's verdicts, unless it did not try the exercise."""
        verdicts = list(verdicts)
        if not any(one.status in _TRIED for one in verdicts):
            return
        fine = (Status.PASSED, Status.NOT_GRADED)
        failed = [one.id for one in verdicts if one.status not in fine]
        for one in verdicts:
            self.failed[one.id] = self.failed.get(one.id, 0) + (one.id in failed)
        self.tried += 1
        if len(failed) == 1 and len(verdicts) > 1:
            self.only[failed[0]] += 1


def add_outcomes(found: dict[str, ExerciseTests], grade: Grade) -> None:
    """Adds the outcomes of a submission's tests, unless it has no grade."""
    tests = grade.tests if grade.status is GradeStatus.GRADED else ()
    for exercise, verdicts in by_exercise(tests).items():
        found.setdefault(exercise, ExerciseTests(exercise)).add(verdicts)


def in_words(exercises: Iterable[ExerciseTests], compared: Sequence[ErrorSpread]) -> Iterator[str]:
    """Yields the complaints about the tests of each exercise; one sentence if there are none.

    `compared` are the tests that compare numbers; the last complaint counts doubtful tolerances.
    """
    quiet = True
    for one in exercises:
        found = list(complaints(one))
        if found:
            quiet = False
            yield f"{one_line(one.name)}, tried by {one.tried}:"
            yield from (f"    {complaint}" for complaint in found)
    if doubtful := sum(bool(spread.doubts) for spread in compared):
        said = "has a tolerance" if doubtful == 1 else "have tolerances"
        yield f"{doubtful} of {quantity(len(compared), 'test')} {said} in doubt: grader tolerances"
    elif quiet:
        yield "There is no complaint about the tests."


def complaints(one: ExerciseTests) -> Iterator[str]:
    """Yields the complaints about the tests of an exercise."""
    if one.tried < _FEWEST_TRIED:
        return
    for test, count in sorted(one.only.items(), key=lambda pair: -pair[1]):
        if count >= _FEWEST_FAILED:
            others = "that pass all other tests of the exercise"
            yield f"{_short(test)} fails {count} submissions {others}"
    unpassed = [test for test, number in one.failed.items() if number == one.tried]
    who = f"all {one.tried} who tried the exercise fail"
    if len(unpassed) == len(one.failed) > 1:
        yield f"{who} all its tests: are they right, and do students know what they ask?"
        return
    for test in unpassed:
        if one.only[test] < _FEWEST_FAILED:
            yield f"{who} {_short(test)}: is it right, and do students know what it asks?"


def _short(test: str) -> str:
    return one_line(name_of_test(test), 120)


# A tolerance is sound if error / tolerance is below NEAR in right answers, above FAR in wrong ones.
NEAR, FAR = 0.3, 3.0
_LEGEND = "right: the worst right answer's error / the tolerance; wrong: the nearest wrong one's"


@dataclass(slots=True)
class ErrorSpread:
    """The errors of a class in one test, as multiples of the tolerance.

    `right` is the largest error of an answer that passed, and `wrong` the smallest error outside
    the tolerance.
    """

    exercise: str
    test: str
    right: float | None = None
    wrong: float | None = None

    def add(self, status: Status, measured: Measurement) -> None:
        """Adds the verdict of one submission; ignores it if it failed for another reason."""
        error = measured.error_over_tolerance
        if status is Status.PASSED:
            self.right = max(error, self.right or 0.0)
        elif status is Status.FAILED and error > 1:
            self.wrong = min(error, math.inf if self.wrong is None else self.wrong)

    @property
    def doubts(self) -> list[str]:
        """Returns the doubts about the tolerance, in words."""
        found = []
        if self.right is not None and self.right > NEAR:
            found.append(f"a passing answer is at {_times(self.right)} of what is allowed")
        if self.wrong is not None and self.wrong < FAR:
            found.append(f"a wrong answer is at only {_times(self.wrong)}")
        return found


def spreads(grades: Iterable[Grade]) -> list[ErrorSpread]:
    """Returns the spread of errors in each test that compares numbers, in test order."""
    found: dict[str, ErrorSpread] = {}
    for test in (test for grade in grades for test in grade.tests):
        if test.measurement is not None:
            spread = found.setdefault(test.id, ErrorSpread(test.exercise, test.id))
            spread.add(test.status, test.measurement)
    exercises = list(dict.fromkeys(spread.exercise for spread in found.values()))
    return sorted(found.values(), key=lambda spread: exercises.index(spread.exercise))


def print_tolerances(grades: Iterable[Grade], console: Console) -> None:
    """Prints a row for each test, then the tests with a tolerance in doubt."""
    found = spreads(grades)
    if not found:
        console.print("no test of these results has compared numbers")
        return
    console.print(_table(found))
    console.print(Text(_LEGEND))
    doubtful = [spread for spread in found if spread.doubts]
    for line in _verdicts(found, doubtful):
        console.print(Text(line))


def _table(found: Sequence[ErrorSpread]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("test", overflow="fold")
    for heading in ("right", "wrong", "gap"):
        table.add_column(heading, justify="right", no_wrap=True)
    exercise = None
    for spread in found:
        if spread.exercise != exercise:
            exercise = spread.exercise
            table.add_row(Text(one_line(exercise), style="bold"))
        style = "red" if spread.doubts else ""
        name = f"  {one_line(name_of_test(spread.test), 80)}"
        cells = (_times(spread.right), _times(spread.wrong), _gap(spread))
        table.add_row(Text(name, style=style), *(Text(cell, style=style) for cell in cells))
    return table


def _gap(spread: ErrorSpread) -> str:
    """Returns the nearest wrong answer's error, divided by the worst right answer's error."""
    if spread.right is None or spread.wrong is None:
        return ""
    if spread.right == 0 or math.isinf(spread.wrong):
        return "∞"
    return _times(spread.wrong / spread.right)


def _times(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return "∞" if math.isinf(ratio) else f"{ratio:.2g}" if ratio < 100 else f"{ratio:.0e}"


def _verdicts(found: Sequence[ErrorSpread], doubtful: Sequence[ErrorSpread]) -> Iterator[str]:
    sound = len(found) - len(doubtful)
    yield (
        f"{sound} of {len(found)} tests have a sound tolerance: right answers below {NEAR:g}, "
        f"wrong ones above {FAR:g}"
    )
    for spread in doubtful:
        yield f"in doubt: {one_line(spread.test, 200)}: {', '.join(spread.doubts)}"
