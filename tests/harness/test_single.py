"""What `grader run` prints of one submission: each thing at length once."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console

from grader.report.single import print_grade
from grader.verdict import (
    Aspect,
    Diagnosis,
    Grade,
    GradeStatus,
    Status,
    Verdict,
    Visibility,
)

MISTAKE = Diagnosis("no-scale", "Your scores are not scaled.", "What has the formula below?")
AGAIN = Diagnosis("no-scale", "The same mistake as in run_one.", "Fix run_one first.")


def failed(exercise: str, aspect: Aspect, diagnosis: Diagnosis | None = None) -> Verdict:
    return Verdict(
        id=f"test_{exercise}_{aspect}",
        exercise=exercise,
        aspect=aspect,
        status=Status.FAILED,
        score=0.0,
        max_score=1.0,
        visibility=Visibility.PUBLIC,
        message=f"3 of 4 {aspect} are wrong\n  index  expected  got",
        diagnosis=diagnosis,
    )


def printed(tests: Sequence[Verdict]) -> str:
    grade = Grade("a", GradeStatus.GRADED, 0.0, 1.0, 1, "", "", 0.0, None, {}, tuple(tests))
    paper = io.StringIO()
    print_grade(grade, Console(file=paper, width=100))
    return paper.getvalue()


def test_a_mistake_is_told_at_length_where_it_is_found_first():
    """Nobody reads the same table for each of ten exercises that build on one line."""
    once = failed("run_one", Aspect.VALUES, MISTAKE)
    text = printed([once, failed("run_two", Aspect.VALUES, AGAIN)])
    assert text.count("index  expected") == 1
    assert text.count("3 of 4 values are wrong") == 2
    assert MISTAKE.hint in text
    assert AGAIN.explanation in text


def test_gradients_of_wrong_results_take_two_lines():
    """They cannot be right before what they are of is."""
    wrong = [failed("run_one", Aspect.VALUES), failed("run_one", Aspect.GRADIENTS)]
    assert printed(wrong).count("index  expected") == 1
    assert "once the results of this exercise are right" in printed(wrong)


def test_gradients_that_alone_are_wrong_are_told_at_length():
    """They are what the student has to look at."""
    assert "index  expected" in printed([failed("run_one", Aspect.GRADIENTS)])
