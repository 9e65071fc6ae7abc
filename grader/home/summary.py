"""The end of a pytest run: causes of failures, then the exercises and their points."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from shutil import get_terminal_size
from typing import Any

import pytest

from grader.core.causes import Cause, causes, counted
from grader.core.points import TAKEN_OFF, WITH_VALUES, CourseWorth, Gate, points_of
from grader.core.text import quantity
from grader.core.verdict import name_of_test
from grader.explain.exceptions.explanation import printed_in_words
from grader.home.failure import Failure

PASSED, MISSING = "passed", "missing"
# The property of a test's report that names the exercise and place of the stub it reached.
STUB = "stub"


@dataclass(slots=True)
class ExerciseCounts:
    """The outcomes of an exercise's tests, and their points in hundredths."""

    outcomes: Counter[str] = field(default_factory=Counter)
    possible: int = 0
    _gate: Gate = field(default_factory=Gate)
    _others: int = 0

    def add(self, outcome: str, is_of_values: bool, worth: int) -> None:
        """Adds a test that is `worth` some hundredths of a point."""
        self.outcomes[outcome] += 1
        self.possible += worth
        earned = worth if outcome == PASSED else 0
        if is_of_values:
            self._gate.add_values(earned, worth, outcome == PASSED)
        else:
            self._others += earned

    @property
    def points(self) -> int:
        """Returns the hundredths of points that count."""
        return self._gate.right + self._gate.counted_of(self._others)

    @property
    def counts_less(self) -> bool:
        """Returns whether some points beside those of the values were earned but do not count."""
        return self.points < self._gate.right + self._others

    @property
    def is_missing(self) -> bool:
        """Returns whether the exercise is not written at all."""
        return self.outcomes[MISSING] == self.outcomes.total()

    @property
    def is_right(self) -> bool:
        """Returns whether every test passed."""
        return self.outcomes[PASSED] == self.outcomes.total()

    def in_words(self) -> str:
        """Returns the tests that passed, and the points."""
        if self.is_missing:
            return "not implemented yet"
        reached, carried = in_words(self.points), in_words(self.possible)
        points = f", {reached} of {carried} points" if self.possible else ""
        return f"{self.outcomes[PASSED]} of {self.outcomes.total()} passed{points}"


def table(exercise_counts: Mapping[str, ExerciseCounts], all_rows: bool) -> list[str]:
    """Returns a line for each exercise, or without `all_rows` for those with failures."""
    shown = {
        name: counts
        for name, counts in exercise_counts.items()
        if all_rows or not (counts.is_right or counts.is_missing)
    }
    width = max(map(len, shown), default=0)
    return [f"{name:<{width}}  {counts.in_words()}" for name, counts in shown.items()]


def not_in_table(exercise_counts: Mapping[str, ExerciseCounts]) -> Iterator[str]:
    """Yields a line for all exercises that are right, and one for those that are missing."""
    right = sum(counts.is_right for counts in exercise_counts.values())
    missing = [name for name, counts in exercise_counts.items() if counts.is_missing]
    if right:
        is_other = right + len(missing) < len(exercise_counts)
        yield f"all tests passed: {quantity(right, 'other ' * is_other + 'exercise')}"
    if missing:
        yield f"not implemented yet: {', '.join(missing)}"


def in_all(exercise_counts: Mapping[str, ExerciseCounts], worth: CourseWorth) -> Iterator[str]:
    """Yields the points of all exercises, and those that hidden tests carry."""
    carried = sum(counts.possible for counts in exercise_counts.values())
    if not carried:
        return
    reached = sum(counts.points for counts in exercise_counts.values())
    if any(counts.counts_less for counts in exercise_counts.values()):
        yield WITH_VALUES
    said = f"{in_words(reached)} of {in_words(carried)} points"
    rest = worth.in_all - worth.public
    if carried < worth.public:
        yield f"{said} in the tests that ran; all public tests are worth {in_words(worth.public)}."
    elif rest > 0:
        yield f"{said}. The other {in_words(rest)} come from hidden tests."
    else:
        yield f"{said}."


def in_words(number: int) -> str:
    """Returns a number of hundredths as points."""
    return f"{points_of(number):.10g}"


# Code stands deeper than the text of a failure.
_INDENT = " " * 4
# The most exercises that a note names.
_MOST_NOTED = 3
_COSTLY = (
    "Every public test passes, but these points do not count what the notes above cost: change "
    "that first."
)
_DONE = (
    "Done: every public test passes. Hand in `adapters.py` and `assignment/` as your course says."
)

Failures = dict[str, Failure]


class Folding:
    """Hides failures that are summed up by cause from pytest's sections, unless `verbose`."""

    def __init__(self, verbose: bool) -> None:
        self.verbose = verbose
        self.failures: Failures = {}
        self.printed: dict[str, list[str]] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        """Hides failures and warnings while sections are written; the last line counts them."""
        stats = terminalreporter.stats
        failed, warned = stats.get("failed", []), stats.get("warnings", [])
        self.failures = {
            one.nodeid: one.longrepr for one in failed if isinstance(one.longrepr, Failure)
        }
        if not self.failures:
            return (yield)
        self.printed = {
            one.nodeid: [line for _, text in one.sections for line in printed_in_words(text)]
            for one in failed
        }
        if not self.verbose:
            others = [one for one in failed if one.nodeid not in self.failures]
            stats |= {"failed": others, "warnings": []}
        try:
            return (yield)
        finally:
            stats |= {"failed": failed, "warnings": warned}


@dataclass(eq=False)
class Summary:
    """The causes of failures, and a line for each exercise."""

    folding: Folding
    order: Sequence[str]
    exercise_counts: Mapping[str, ExerciseCounts]
    notes: Mapping[str, Mapping[str, None]]
    worth: Callable[[], CourseWorth]

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Writes the causes, the exercises, the remarks and, last, which exercise comes next."""
        failures, verbose = self.folding.failures, self.folding.verbose
        builds_on = {one.said.exercise: one.builds_on for one in failures.values()}
        found = causes((one.said for one in failures.values()), self.order, builds_on)
        if found:
            terminalreporter.section(counted(found))
            for line, style in _told(found, failures, self.folding.printed, not verbose):
                _show(terminalreporter, line, style)
        if self.exercise_counts:
            terminalreporter.section("exercises")
            all_rows = verbose or not found
            below = [] if all_rows else [*not_in_table(self.exercise_counts)]
            for remark in (*self._noted(), *self._remarks()):
                below += ["", remark]
            for line in (*table(self.exercise_counts, all_rows), *below):
                _show(terminalreporter, line)
        for line in next_exercise(terminalreporter.stats, self.order):
            terminalreporter.write_line(line)

    def _noted(self) -> Iterator[str]:
        """Yields the notes on exercises, which belong to no failure."""
        for text, exercises in self.notes.items():
            others = len(exercises) - _MOST_NOTED
            more = f" and {others} more" if others > 0 else ""
            yield f"Note on {', '.join([*exercises][:_MOST_NOTED])}{more}: {text}."

    def _remarks(self) -> Iterator[str]:
        """Yields remarks on the whole run: the points, the next step."""
        worth = self.worth()
        points = "\n".join(in_all(self.exercise_counts, worth))
        if points:
            yield points
        carried = sum(counts.possible for counts in self.exercise_counts.values())
        if carried >= worth.public and all(
            counts.is_right for counts in self.exercise_counts.values()
        ):
            yield _COSTLY if any(TAKEN_OFF in text for text in self.notes) else _DONE


def next_exercise(stats: Mapping[str, Sequence[Any]], exercises: Sequence[str]) -> Iterator[str]:
    """Yields the lines about the first stub in the order of the exercises, if nothing is wrong."""
    stubs: dict[str, tuple[str, str]] = {}
    for report in stats.get("missing", ()):
        exercise, _, place = str(dict(report.user_properties).get(STUB, "")).partition(" ")
        stubs.setdefault(exercise, (place, report.nodeid.partition("::")[0]))
    ordered = [name for name in (*exercises, *stubs) if stubs.get(name, ("",))[0]]
    if ordered and stats.keys().isdisjoint(("failed", "error")):
        place, tests = stubs[ordered[0]]
        start = "Next:" if "passed" in stats else "Nothing is written yet. Start with"
        yield ""
        yield f"{start} {ordered[0]} ({place})."
        yield f"Write what its docstring asks for, then run `pytest {tests}`."


def _show(terminalreporter: pytest.TerminalReporter, text: str, style: str = "") -> None:
    """Writes a text, broken between words at the width of the terminal."""
    width, markup = get_terminal_size().columns, {style: True} if style else {}
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        for row in textwrap.wrap(
            line,
            width,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]:
            terminalreporter.write_line(row, **markup)


def _told(
    found: Sequence[Cause], failures: Failures, printed: Mapping[str, list[str]], in_full: bool
) -> Iterator[tuple[str, str]]:
    """Yields lines, each with its style: causes with their hints, the first with an example.

    The first cause without a line says how the search for lines ended.
    """
    without = (one for one in found if not one.places and failures[one.shown.id].search)
    searched = next(without, None)
    for number, cause in enumerate(found, 1):
        if in_full and number > 1:
            yield "", ""
        first = f"{number}. " if len(found) > 1 else ""
        yield f"{first}{cause.headline}", "red"
        if in_full and cause.hint:
            yield f"Hint: {cause.hint}" if cause.mistake is not None else cause.hint, "yellow"
        if in_full:
            details = _example(cause, failures, printed) if number == 1 else ()
            yield from ((line, "") for line in (*details, *_extent(cause)))
        if cause is searched:
            yield failures[cause.shown.id].search, ""


def _example(
    cause: Cause, failures: Failures, printed_by: Mapping[str, list[str]]
) -> Iterator[str]:
    """Yields one failure in full, with its printed output."""
    failure = failures[cause.shown.id]
    others = [failures[test.id] for test in cause.tests]
    line = next(filter(None, (one.line for one in (failure, *others))), "")
    name = name_of_test(cause.shown.id)
    yield f"{name}: {failure.about}" if failure.about else f"{name}:"
    first, *rest = [*failure.account(), *line.splitlines(), *printed_by[cause.shown.id]]
    is_said = cause.shown.outcome == cause.sentence
    code: set[str] = set()
    if is_said and cause.other_place:
        yield f"    at {cause.other_place}"
    for text in rest if is_said else (first, *rest):
        # Code is shown once: the line that raised is often the one to change.
        if text not in code:
            yield f"    {text}"
        if text.startswith(_INDENT):
            code.add(text)


def _extent(cause: Cause) -> Iterator[str]:
    """Yields how many tests and exercises a cause fails, if there are several tests."""
    if len(cause.tests) > 1:
        where = quantity(len(cause.exercises), "exercise")
        yield f"Fails {len(cause.tests)} tests in {where}: `pytest -v` shows each."
