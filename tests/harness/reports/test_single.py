"""The output of `grader run` for one submission: each detail appears at length once."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from rich.console import Console

from grader.core.points import OF_THE_VALUES, WITH_VALUES
from grader.core.verdict import (
    Aspect,
    Carried,
    Diagnosis,
    Grade,
    GradeStatus,
    Status,
    Verdict,
    Visibility,
    Where,
)
from grader.reports.single import print_grade
from grader.reports.standing import causes_of, feedback
from tests.harness.export_fixtures import a_verdict

pytestmark = pytest.mark.unit

MISTAKE = Diagnosis("no-scale", "Your scores are not scaled.", "What has the formula below?")
AGAIN = Diagnosis("no-scale", "The same mistake as in run_one.", "Fix run_one first.")


def failed(exercise: str, aspect: Aspect, diagnosis: Diagnosis | None = None) -> Verdict:
    message = f"3 of 4 {aspect} are wrong\n  index  expected  got"
    name = f"test_{exercise}_{aspect}"
    told = {"aspect": aspect, "diagnosis": diagnosis, "visibility": Visibility.PUBLIC}
    return a_verdict(exercise, 0.0, 1.0, id=name, message=message, **told)


def printed(tests: Sequence[Verdict]) -> str:
    grade = Grade("a", GradeStatus.GRADED, 0.0, 1.0, 1, "", "", 0.0, None, {}, tuple(tests))
    paper = io.StringIO()
    print_grade(grade, Console(file=paper, width=100))
    return paper.getvalue()


def test_a_mistake_is_shown_in_full_only_at_its_first_exercise():
    """Ten exercises that use one wrong line would otherwise repeat the same table."""
    once = failed("run_one", Aspect.VALUES, MISTAKE)
    text = printed([once, failed("run_two", Aspect.VALUES, AGAIN)])
    assert text.count("index  expected") == 1
    assert text.count("3 of 4 values are wrong") == 1
    headline = "run_one: your scores are not scaled [no-scale] (-2 points in 2 exercises)"
    assert f"{headline}\n  Hint: {MISTAKE.hint}" in text
    assert "1 test of run_one; also fails run_two: 1 test" in text
    assert AGAIN.explanation not in text


def test_a_mistake_that_only_a_later_exercise_shows_is_told_with_that_exercise():
    """The first exercise has the same line, and too few cases to name the mistake."""
    where = Where("heads.py", 19, None)
    unnamed = failed("run_one", Aspect.VALUES)._replace(where=where)
    text = printed([unnamed, failed("run_two", Aspect.VALUES, MISTAKE)._replace(where=where)])
    told = "also fails run_two: 1 test; in run_two: Your scores are not scaled"
    assert told in " ".join(text.split())


def test_gradients_of_wrong_values_are_counted_in_the_same_cause():
    """The gradients of wrong values cannot be right."""
    wrong = [failed("run_one", Aspect.VALUES), failed("run_one", Aspect.GRADIENTS)]
    assert printed(wrong).count("index  expected") == 1
    assert "2 tests of run_one" in printed(wrong)


def test_the_number_of_causes_is_printed_before_the_first():
    """A reader of the first screen sees that more follows."""
    other = Diagnosis("kv-swapped", "Keys are taken for values.", "Which is which?")
    text = printed([failed("run_one", Aspect.VALUES, each) for each in (MISTAKE, other)])
    first, second = "run_one: your scores are not scaled", "run_one: keys are taken for values"
    assert text.index("2 failures of 2 kinds") < text.index(first) < text.index(second)


def test_points_withheld_from_other_tests_are_charged_to_wrong_values():
    """Every lost point is explained by a failure that the student can fix."""
    passed = failed("run_one", Aspect.GENERALITY)._replace(
        status=Status.PASSED, message=f"earns none of its points, because none {OF_THE_VALUES}"
    )
    text = printed([failed("run_one", Aspect.VALUES), passed])
    assert "3 of 4 values are wrong (-2 points)" in text
    assert "notes\n  The other tests of an exercise count only as far as its values" in text


@pytest.mark.parametrize("score", [0.5, 0.25])
def test_the_cost_of_a_forbidden_call_is_not_charged_to_wrong_values(score: float):
    """Half of the values are wrong; the call takes off half of what the other test earns."""
    right = failed("run_one", Aspect.VALUES)._replace(
        id="test_right", status=Status.PASSED, score=2 * score, message=None
    )
    other = failed("run_one", Aspect.GENERALITY)._replace(
        status=Status.PASSED,
        score=score,
        message=f"earns half of its points, because half {OF_THE_VALUES}",
    )
    text = printed([failed("run_one", Aspect.VALUES), right, other])
    assert "3 of 4 values are wrong (-1.5 points)" in text


@pytest.mark.parametrize("share", ["none", "60%"])
def test_feedback_says_which_share_of_other_tests_counts(share):
    """The sentence is the one of other reports, with the share."""
    passed = failed("run_one", Aspect.GENERALITY)._replace(
        status=Status.PASSED,
        message=f"earns {share} of its points, because {share} {OF_THE_VALUES}",
    )
    verdicts = [failed("run_one", Aspect.VALUES), passed]
    said = f"note: {WITH_VALUES.removesuffix('.')}: here {share}."
    assert feedback(verdicts, causes_of(verdicts)).endswith(said)


def test_wrong_gradients_of_right_values_are_shown_in_full():
    """The student has nothing else to fix."""
    assert "index  expected" in printed([failed("run_one", Aspect.GRADIENTS)])


def test_an_exercise_name_that_fits_is_never_broken():
    """It may take what the other columns of the table leave."""
    name = "run_" + "x" * 16
    verdicts = [failed(name, aspect) for aspect in [*Aspect][1:]]
    verdicts.append(failed(name, Aspect.VALUES)._replace(status=Status.PASSED, score=1.0))
    grade = Grade("a", GradeStatus.GRADED, 0.0, 1.0, 1, "", "", 0.0, None, {}, tuple(verdicts))
    paper = io.StringIO()
    print_grade(grade, Console(file=paper, width=40 + len(name)))
    (row,) = [line for line in paper.getvalue().splitlines() if f" of {len(Aspect)} " in line]
    assert row.split()[:7] == [name, "1", "/", f"{len(Aspect)}", "1", "of", f"{len(Aspect)}"]


NOTED = failed("run_one", Aspect.VALUES)._replace(
    status=Status.PASSED, score=1.0, message="uses torch.rot90"
)


@pytest.mark.parametrize("noted", [[NOTED], []])
def test_notes_stand_below_the_table_if_there_are_any(noted):
    """A note on a forbidden call costs points, and says so itself."""
    lines = printed([failed("run_two", Aspect.VALUES), *noted]).splitlines()
    assert [line for line in lines if line.startswith("notes")] == ["notes"] * len(noted)
    assert lines.count("  run_one: uses torch.rot90") == len(noted)


def test_carried_points_notes_and_missing_words_stand_below_the_table():
    """The points of an exercise that builds on another one's mistake, and what was handed in."""
    tests = failed("run_one", Aspect.VALUES, MISTAKE), failed("run_two", Aspect.VALUES, AGAIN)
    grade = Grade(
        "a", GradeStatus.GRADED, 0.0, 2.0, 1, "", "", 0.0, None, {}, tests,
        notes=("left out: b.bin",), unexplained="the worker was lost",
        carried=(Carried("run_two", "run_one", "no-scale", 1.0),),
    )  # fmt: skip
    paper = io.StringIO()
    print_grade(grade, Console(file=paper, width=120))
    lines = paper.getvalue().splitlines()
    assert lines[0] == "a: 1 of 2 points"
    assert [line for line in lines[-5:] if line] == [
        "deducted once",
        "  run_two: full marks (+1 point). Its only error is that of run_one (no-scale), where it "
        "was already deducted.",
        "The explanation is incomplete, which does not affect the grade: the worker was lost.",
        "about what was handed in",
        "  left out: b.bin",
    ]


@pytest.mark.parametrize("points", [1.0, 0.5])
def test_an_exercise_with_full_marks_by_carried_points_has_no_cause_of_its_own(points):
    """If points are missing there still, something of its own may be wrong."""
    tests = failed("run_one", Aspect.VALUES, MISTAKE), failed("run_two", Aspect.VALUES)
    carried = (Carried("run_two", "run_one", "no-scale", points),)
    grade = Grade(
        "a", GradeStatus.GRADED, 0.0, 2.0, 1, "", "", 0.0, None, {}, tests, carried=carried
    )
    paper = io.StringIO()
    print_grade(grade, Console(file=paper, width=120))
    assert ("2 failures of 2 kinds" in paper.getvalue()) == (points < 1)
