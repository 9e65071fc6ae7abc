"""Exercises with few useful tests, and tests that fail otherwise right submissions."""

import io
import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from grader.core.verdict import Aspect, Grade, GradeStatus, Measurement, Status, Verdict, Visibility
from grader.reports.pages.class_data import ClassData, Graded
from grader.reports.pages.report import doubted
from grader.reports.suite_quality import (
    ExerciseTests,
    add_outcomes,
    in_words,
    print_tolerances,
    spreads,
)
from grader.results.store import Store

pytestmark = pytest.mark.unit


def exercises_of(grades: Iterable[Grade]) -> list[ExerciseTests]:
    """Returns the exercises of a class."""
    found: dict[str, ExerciseTests] = {}
    for one in grades:
        add_outcomes(found, one)
    return [*found.values()]


P, F, M = Status.PASSED, Status.FAILED, Status.MISSING


def grade(name: str, *outcomes: Status, status: GradeStatus = GradeStatus.GRADED) -> Grade:
    """Returns a grade with these outcomes of the tests of one exercise."""
    tests = tuple(
        Verdict(f"f.py::{test}", "run", Aspect.VALUES, one, 0.0, 1.0, Visibility.PUBLIC)
        for test, one in zip("abcdef", outcomes, strict=False)
    )
    return Grade(name, status, 0.0, 1.0, 1, "h", "s", 0.0, None, {}, tests)


def remarks(*grades: Grade) -> list[str]:
    """Returns the remarks about the tests, without the line that names the exercise."""
    return [line.strip() for line in in_words(exercises_of(grades), []) if line.startswith(" ")]


def test_a_test_that_fails_otherwise_right_submissions_is_named():
    """The test is either hard or wrong."""
    several = [grade(name, P, F, P) for name in "uvw"]
    assert remarks(grade("x", F, F, F), grade("y", P, P, P), *several) == [
        "b fails 3 submissions that pass all other tests of the exercise"
    ]


def test_two_submissions_are_no_evidence_against_the_test_that_tells_them_apart():
    """One of them may be wrong in just the case that this test is for."""
    right, wrong = grade("x", P, P, P), grade("y", P, F, P)
    assert remarks(right, wrong) == []
    assert remarks(*[right] * 4, wrong) == []
    assert remarks(*[right] * 4, *[wrong] * 2) == []
    assert remarks(right, *[wrong] * 3) == []


def test_a_test_that_nobody_passes_is_named():
    """The students do pass other tests of the exercise."""
    found = remarks(*(grade(name, P, F, F) for name in "xzuv"), grade("y", F, F, P))
    assert found == [
        "all 5 who tried the exercise fail b: is it right, and do students know what it asks?"
    ]


def test_an_exercise_that_nobody_passes_in_part_is_reported_once():
    """A sentence for each test would say the same."""
    assert remarks(*(grade(name, F, F) for name in "xyzuv")) == [
        "all 5 who tried the exercise fail all its tests: are they right, and do students know "
        "what they ask?"
    ]
    (single,) = remarks(*(grade(name, F) for name in "xyzuv"))
    assert single.startswith("all 5 who tried the exercise fail a: is it right")


def test_missing_and_unreadable_submissions_do_not_count_for_weak_tests():
    """A class of three with two missing submissions is a class of one."""
    absent = grade("y", M, M, M)
    broken = grade("z", F, F, F, status=GradeStatus.UNREADABLE)
    assert remarks(grade("x", P, F, P), absent, broken) == []
    assert [one.tried for one in exercises_of([grade("x", P, F, P), absent, broken])] == [1]


def test_a_page_complains_of_the_tests_that_the_command_complains_of():
    """A submission that was not graded to the end says nothing about the tests."""
    half = [grade(name, P, F, status=GradeStatus.NOT_GRADED) for name in "xyz"]
    grades = [*half, *(grade(name, P, P) for name in "uvwst")]
    page = ClassData()
    for one in grades:
        page.add(Graded.of(one), (), ())
    assert [*page.suite.values()] == exercises_of(grades)
    assert [*doubted(page)] == remarks(*grades) == []


def test_submissions_of_two_suites_are_counted_together():
    """A batch that was stopped halfway after a new test has grades with and without it."""
    found = remarks(grade("x", P, F), grade("y", P, P, F), grade("z", P))
    assert found == []
    (one,) = exercises_of([grade("x", P, F), grade("y", P, P, F), grade("z", P)])
    assert (one.tried, one.failed) == (3, {"f.py::a": 0, "f.py::b": 1, "f.py::c": 1})


def test_a_test_that_everybody_fails_is_reported_even_if_one_fails_nothing_else():
    """That one submission does not make the test telling."""
    grades = [grade("x", P, F), *(grade(name, F, F) for name in "yzuv")]
    assert any("all 5 who tried the exercise fail b" in said for said in remarks(*grades))


def test_a_sound_suite_is_reported_in_one_sentence():
    """Empty output would look like an error."""
    grades = [grade("x", F, F, P), grade("y", P, P, P)]
    sentence = "There is no complaint about the tests."
    assert [*in_words(exercises_of(grades), [])] == [sentence]
    doubtful = spreads([*measured("a", 0.01, 500.0), *measured("b", 0.4)])
    said = "1 of 2 tests has a tolerance in doubt: grader tolerances"
    assert [*in_words(exercises_of(grades), doubtful)] == [said]


def measured(test: str, *errors: float) -> list[Grade]:
    """Returns a grade for each error, a multiple of the tolerance, in a test of "run_" + letter."""
    return [
        replace(
            grade(f"{test} {error}"),
            tests=(
                Verdict(
                    f"f.py::{test}",
                    f"run_{test[0]}",
                    Aspect.VALUES,
                    P if error <= 1 else F,
                    0.0,
                    1.0,
                    Visibility.PUBLIC,
                    measurement=Measurement(error, error, 1e-6, 1e-5, error),
                ),
            ),
        )
        for error in errors
    ]


def test_the_table_of_tolerances_has_the_worst_right_and_the_nearest_wrong_answer():
    """Tests stand with their exercise; those in doubt are repeated below."""
    grades = [
        *measured("a1", 0.01, 0.002, 500.0, 900.0),
        *measured("b1", 0.0, math.inf),
        *measured("a2", 0.4),
        *measured("b2", 2.5, 99.0),
    ]
    paper = io.StringIO()
    print_tolerances(grades, Console(file=paper, width=200))
    lines = [" ".join(line.split()) for line in paper.getvalue().splitlines()]
    first = lines.index("run_a")
    assert lines[first : first + 6] == [
        "run_a",
        "a1 0.01 5e+02 5e+04",
        "a2 0.4",
        "run_b",
        "b1 0 ∞ ∞",
        "b2 2.5",
    ]
    assert lines[-3:] == [
        "2 of 4 tests have a sound tolerance: right answers below 0.3, wrong ones above 3",
        "in doubt: f.py::a2: a passing answer is at 0.4 of what is allowed",
        "in doubt: f.py::b2: a wrong answer is at only 2.5",
    ]


@pytest.mark.parametrize(
    ("errors", "doubts", "ends"),
    [
        ((0.3, 3.0), 0, (0.3, 3.0)),
        ((0.31, 2.9), 2, (0.31, 2.9)),
        ((0.1, 0.2), 0, (0.2, None)),
        ((5.0, 4.0), 0, (None, 4.0)),
    ],
)
def test_a_tolerance_is_in_doubt_between_03_and_3(errors, doubts, ends):
    """The bounds themselves are sound."""
    (spread,) = spreads(measured("a1", *errors))
    assert (spread.right, spread.wrong) == ends
    assert len(spread.doubts) == doubts


def test_an_answer_that_failed_for_another_reason_does_not_bound_the_gap():
    """The numbers were right and the dtype wrong, which does not concern the tolerance."""
    (right,) = measured("a1", 0.5)
    (spread,) = spreads([replace(right, tests=(right.tests[0]._replace(status=F),))])
    assert (spread.right, spread.wrong) == (None, None)


def test_results_without_comparisons_are_no_error():
    """In such a class no submission runs."""
    paper = io.StringIO()
    print_tolerances([], Console(file=paper))
    assert "no test of these results has compared numbers" in paper.getvalue()


@pytest.mark.process
def test_tolerances_reads_the_store_of_a_batch(grader, tmp_path: Path, monkeypatch):
    """Nothing is graded again. A character that cannot be printed does not stop the command."""
    with Store.open(tmp_path, "attention") as store:
        for place, one in enumerate(measured("a1", 0.01, 1e4)):
            store.add(one, one.submission, place)
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    done = grader("tolerances", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 of 1 tests have a sound tolerance" in done.stdout
    assert "\\u" not in done.stdout


@pytest.mark.process
def test_tolerances_refuses_a_folder_without_results(grader, tmp_path: Path):
    """Every command that reads a batch refuses such a folder."""
    done = grader("tolerances", tmp_path)
    assert done.returncode == 2
    assert "holds no results.sqlite" in done.stderr


@pytest.mark.process
def test_report_details_list_weak_tests(tmp_path, grader):
    """An instructor reads the list after a batch, before publishing grades."""
    with Store.open(tmp_path, "tiny") as store:
        for place, one in enumerate(grade(name, F if name in "xyz" else P, P) for name in "vwxyz"):
            store.add(one, one.submission, place)
    done = grader("report", str(tmp_path), "--details")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    first = lines.index("run, tried by 5:")
    assert lines[first + 1] == "    a fails 3 submissions that pass all other tests of the exercise"
