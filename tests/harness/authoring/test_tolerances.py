"""`grader tolerances`: the distance between right and wrong answers."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pytest
from rich.console import Console

from grader.core.verdict import Aspect, Grade, GradeStatus, Measurement, Status, Verdict, Visibility
from grader.reports.suite_quality import histogram, print_tolerances, spreads
from grader.results.store import Store
from tests.harness.storing import add

pytestmark = pytest.mark.unit


def a_grade(name: str, error: float, status: Status | None = None, test: str = "t") -> Grade:
    """Returns a grade with one verdict, whose error is a multiple of the tolerance."""
    verdict = Verdict(
        id=f"tests/public/test_x.py::{test}",
        exercise="run_x",
        aspect=Aspect.VALUES,
        status=status or (Status.PASSED if error <= 1 else Status.FAILED),
        score=0.0,
        max_score=1.0,
        visibility=Visibility.PUBLIC,
        measurement=Measurement(error, error, 1e-6, 1e-5, error),
    )
    return Grade(name, GradeStatus.GRADED, 0.0, 1.0, 7, "a", "b", 0.1, None, {}, (verdict,))


def printed(*grades: Grade) -> str:
    """Returns the output for a class."""
    text = io.StringIO()
    print_tolerances(grades, Console(file=text, width=200))
    return text.getvalue()


def test_the_worst_right_and_the_nearest_wrong_answer_bound_the_gap():
    """Every value between them could be the tolerance."""
    (spread,) = spreads([a_grade("a", 0.002), a_grade("b", 0.01), a_grade("c", 500.0)])
    assert (spread.right, spread.wrong, spread.doubts) == (0.01, 500.0, [])
    assert "5e+04" in printed(a_grade("b", 0.01), a_grade("c", 500.0))


@pytest.mark.parametrize(
    ("errors", "doubt"),
    [
        ((0.4, 900.0), "a passing answer is at 0.4 of what is allowed"),
        ((0.1, 2.5), "a wrong answer is at only 2.5"),
    ],
)
def test_a_narrow_gap_around_the_tolerance_is_doubted(errors, doubt):
    """Either a right or a wrong answer is near the tolerance."""
    text = printed(*(a_grade(str(error), error) for error in errors))
    assert "0 of 1 tests have a sound tolerance" in text
    assert f"in doubt: tests/public/test_x.py::t: {doubt}" in text


def test_an_answer_that_failed_for_another_reason_does_not_bound_the_gap():
    """The numbers were right and the dtype wrong, which does not concern the tolerance."""
    (spread,) = spreads([a_grade("a", 0.5, Status.FAILED)])
    assert (spread.right, spread.wrong) == (None, None)


def test_a_histogram_has_a_line_at_the_tolerance():
    """Right answers stand before the line and wrong ones after it; NaN is farthest off."""
    (spread,) = spreads([a_grade(str(e), e) for e in (0.0, 0.02, 0.9, 1.0, 1.5, 1e9, math.inf)])
    assert sum(spread.counts) == 7
    assert histogram(spread.counts) == "▄  ▄█|▄   █"


def test_results_without_comparisons_are_no_error():
    """In such a class no submission runs."""
    assert "no test of these results has compared numbers" in printed()


@pytest.mark.process
def test_tolerances_reads_the_store_of_a_batch(grader, tmp_path: Path):
    """All numbers come from the store, and nothing is graded again."""
    with Store.open(tmp_path, "attention") as store:
        add(store, a_grade("alice", 0.01), "a", 0)
        add(store, a_grade("bob", 1e4), "b", 1)
    done = grader("tolerances", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 of 1 tests have a sound tolerance" in done.stdout


@pytest.mark.process
def test_tolerances_prints_ascii_bars_without_block_characters(grader, tmp_path: Path, monkeypatch):
    """A character that cannot be printed must not stop the command."""
    with Store.open(tmp_path, "attention") as store:
        store.add(a_grade("alice", 0.01), "a", 0)
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    done = grader("tolerances", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "@" in done.stdout
    assert "\\u" not in done.stdout


@pytest.mark.process
def test_tolerances_refuses_a_folder_without_results(grader, tmp_path: Path):
    """Every command that reads a batch refuses such a folder."""
    done = grader("tolerances", tmp_path)
    assert done.returncode == 2
    assert "holds no results.sqlite" in done.stderr
