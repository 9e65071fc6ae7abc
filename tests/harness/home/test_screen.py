"""The end of a pytest run, laid out for a terminal: lower causes lose their details first."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.core.causes import FailedTest
from grader.core.points import CourseWorth
from grader.core.verdict import Status
from grader.home.causes import CUT_SHORT
from grader.home.failure import Failure
from grader.home.screen import PrintedCause, Screen
from grader.home.summary import Folding, Summary, folded

pytestmark = pytest.mark.unit

WIDTH = 80


@pytest.fixture
def screen(monkeypatch) -> Screen:
    """A terminal of 80 columns that keeps its lines in `written`."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    written: list[str] = []
    made = Screen(SimpleNamespace(write_line=lambda line, **_: written.append(line)))
    made.written = written
    return made


def printed_cause(number: int, details: int = 6) -> PrintedCause:
    """Returns a cause with a hint and this many lines of details."""
    head = [(f"{number}. run_x: every value is wrong", "red"), ("Hint: Which axis?", "yellow")]
    return PrintedCause(
        head, [f"    detail {at} of {number}" for at in range(details)], ["Fails 2."]
    )


def test_details_of_lower_causes_are_cut_first(screen):
    """Headlines and hints stay; a mark shows where details are cut."""
    lines = [
        line
        for line, _ in screen.fitted([printed_cause(1), printed_cause(2), printed_cause(3)], 23)
    ]
    assert len(lines) <= 23
    assert sum("detail" in line and line.endswith("of 1") for line in lines) == 6
    assert sum("detail" in line and line.endswith("of 2") for line in lines) == 4
    assert "    …" in lines
    assert not any(line.endswith("of 3") for line in lines)
    assert sum(line.startswith("Hint: ") for line in lines) == 3


def test_causes_that_do_not_fit_on_the_screen_are_counted(screen):
    """The first causes are shown, because they should be fixed first."""
    lines = [line for line, _ in screen.fitted([printed_cause(at) for at in range(1, 12)], 22)]
    assert len(lines) <= 22
    assert lines[-1] == "and 6 more causes: `pytest -v` shows all"
    assert lines[0].startswith("1. ")


def test_every_detail_is_shown_if_the_screen_has_room(screen):
    """Every line of detail is shown."""
    lines = [line for line, _ in screen.fitted([printed_cause(1), printed_cause(2)], 40)]
    assert sum("detail" in line for line in lines) == 12


def test_wrapped_source_is_indented_and_cut_after_two_rows(screen):
    """The rows of ordinary text keep the indentation of the first row."""
    screen.show("        return " + " + ".join(["weights"] * 30))
    screen.show("    " + " ".join(["word"] * 30))
    code, more, first, second = screen.written
    assert code.startswith("        return ")
    assert more.startswith("            weights")
    assert more.endswith(" …")
    assert (first[:5], second[:5]) == ("    w", "    w")
    assert max(map(len, screen.written)) <= WIDTH
    assert screen.rows_of("    " + " ".join(["word"] * 30), "") == 3


def test_a_folded_table_counts_the_rows_that_it_leaves_out():
    """The count itself takes one row."""
    rows = [f"run_{number}  1 of 2 passed" for number in range(5)]
    assert folded(rows, 5) == rows
    assert folded(rows, 3) == [*rows[:2], "and 3 more exercises with failed tests"]


def summed_up(root: Path, shown: str, *failed: FailedTest) -> str:
    """Returns what the end of a run prints about failures whose search stopped early."""
    folding = Folding(verbose=False)
    for said in failed:
        folding.failures[said.id] = Failure("", said, ("t.py", 1), search=CUT_SHORT)
        folding.printed[said.id] = []
    written: list[str] = []
    terminal = SimpleNamespace(
        write_line=lambda line, **_: written.append(line),
        section=lambda _: None,
        config=SimpleNamespace(getoption=lambda _: shown, rootpath=root),
        stats={},
    )
    names = [said.exercise for said in failed]
    Summary(folding, names, {}, {}, lambda: CourseWorth(9, 9), {}).pytest_terminal_summary(terminal)
    return "\n".join(written)


@pytest.mark.parametrize("shown", ["auto", "line"])
def test_a_search_that_stopped_early_is_told_once_at_the_first_cause_without_a_line(
    tmp_path, shown
):
    """The student learns there that more is to be found."""
    failed = [
        FailedTest(f"t.py::{name}", name, Status.FAILED, f"{name} is off", places=place)
        for name, place in {"run_a": (("a.py", 3),), "run_b": (), "run_c": ()}.items()
    ]
    text = summed_up(tmp_path, shown, *failed)
    assert text.count("`pytest --locate` finishes it") == 1
    assert text.index("run_b is off") < text.index("stopped early") < text.index("run_c is off")


def test_a_test_is_named_whole_if_its_parameter_holds_colons(tmp_path):
    """The name is what pytest takes after `-k` or the file."""
    said = FailedTest("t.py::test_it[a::b]", "run_a", Status.FAILED, "wrong\n  more")
    lines = [line.strip() for line in summed_up(tmp_path, "auto", said).splitlines()]
    assert "test_it[a::b]:" in lines
