"""Exercises with few useful tests, and tests that fail otherwise right submissions."""

import pytest

from grader.core.verdict import Aspect, Grade, GradeStatus, Status, Verdict, Visibility
from grader.reports.suite_quality import exercises_of, in_words
from grader.results.store import Store

pytestmark = pytest.mark.unit

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
    return [line.strip() for line in in_words(exercises_of(grades)) if line.startswith(" ")]


def test_an_exercise_decided_by_one_test_is_called_weak():
    """That test alone wins or loses all points."""
    found = remarks(grade("x", P, P, P), grade("y", P, F, P), grade("z", P, P, P))
    assert found == ["of its 3 tests, only b passes some submissions and fails others"]


def test_a_test_that_fails_otherwise_right_submissions_is_named():
    """The test is either hard or wrong."""
    wrong, narrow = grade("x", F, F, F), grade("y", P, F, P)
    assert remarks(wrong, narrow, grade("z", P, F, P), grade("w", P, P, P)) == [
        "b fails 2 submissions that pass all other tests of the exercise"
    ]


def test_a_test_that_nobody_passes_is_named():
    """The students do pass other tests of the exercise."""
    found = remarks(grade("x", P, F, F), grade("y", F, F, P), grade("z", P, F, F))
    assert found == [
        "all 3 who tried the exercise fail b: is it right, and do students know what it asks?"
    ]


def test_missing_and_unreadable_submissions_do_not_count_for_weak_tests():
    """A class of three with two missing submissions is a class of one."""
    absent = grade("y", M, M, M)
    broken = grade("z", F, F, F, status=GradeStatus.UNREADABLE)
    assert remarks(grade("x", P, F, P), absent, broken) == []
    assert [one.tried for one in exercises_of([grade("x", P, F, P), absent, broken])] == [1]


def test_a_sound_suite_is_reported_in_one_sentence():
    """Empty output would look like an error."""
    grades = [grade("x", F, F, P), grade("y", P, P, P)]
    sentence = "Every exercise has several tests that some submissions pass and others fail."
    assert [*in_words(exercises_of(grades))] == [sentence]


@pytest.mark.process
def test_report_details_list_weak_tests(tmp_path, grader):
    """An instructor reads the list after a batch, before publishing grades."""
    with Store.open(tmp_path, "tiny") as store:
        for place, one in enumerate([grade("x", P, P), grade("y", F, P), grade("z", F, P)]):
            store.add(one, one.submission, place)
    done = grader("report", str(tmp_path), "--details")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    first = lines.index("run, tried by 3:")
    assert lines[first + 1 : first + 3] == [
        "    of its 2 tests, only a passes some submissions and fails others",
        "    a fails 2 submissions that pass all other tests of the exercise",
    ]
