"""The progress of a batch without a terminal: a line at first, at the end, and now and then."""

from __future__ import annotations

import pytest

from grader.cli.progress import ProgressBar

pytestmark = pytest.mark.unit


def test_the_first_and_the_last_count_are_printed(capsys, monkeypatch):
    """A line has the counts by outcome, and the last submission without control characters."""
    monkeypatch.setattr("grader.cli.progress._SECONDS_BETWEEN_LINES", 3600.0)
    with ProgressBar("grading") as progress:
        progress._last_line = -3600.0  # as on a machine that has been on for an hour
        for outcome, name in (("graded", "ann"), ("not_graded", "bob"), ("graded", "c\x1by")):
            progress.count(outcome, name, 3)
    said = capsys.readouterr()
    assert said.out == ""
    first, last = said.err.splitlines()
    assert first == "1/3: 1 graded; last: ann"
    assert last.startswith("3/3: 2 graded, 1 not graded; last: c")
    assert "\x1b" not in last


def test_a_count_without_a_name_names_none(capsys):
    """Reading the sources of a class has no results."""
    with ProgressBar("reading") as progress:
        progress.count("read", "", 1)
    assert capsys.readouterr().err == "1/1: 1 read\n"
