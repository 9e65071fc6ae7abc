"""Verdicts and grades: rows of `results.jsonl`, and whole rows between processes."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest

from grader.core.submission import Imports
from grader.core.text import read, written
from grader.core.verdict import (
    Aspect,
    Carried,
    Diagnosis,
    Grade,
    GradeStatus,
    Measurement,
    Status,
    Verdict,
    Visibility,
    Where,
    by_exercise,
    name_of_test,
)
from tests.harness.export_fixtures import a_grade, a_verdict

pytestmark = pytest.mark.unit

MEASURED = Measurement(0.5, math.inf, 1e-5, 1e-6, 9.0, 3, 4, (1, 2))
KNOWN = Verdict(
    "t",
    "run_x",
    Aspect.GENERALITY,
    Status.FAILED,
    0.0,
    2.5,
    Visibility.PUBLIC,
    0.25,
    "wrong",
    MEASURED,
    Diagnosis("tripled", "Every number is tripled.", "How often is x added?"),
    Where("a.py", 3),
)
BARE = a_verdict("run_y")
ROW = {
    "id": "t",
    "exercise": "run_x",
    "aspect": "generality",
    "status": "failed",
    "score": 0.0,
    "max_score": 2.5,
    "visibility": "public",
    "duration_s": 0.25,
    "message": "wrong",
    "max_abs_error": 0.5,
    "max_rel_error": None,
    "rtol": 1e-5,
    "atol": 1e-6,
    "error_over_tolerance": 9.0,
    "diagnosis": {
        "mistake": "tripled",
        "explanation": "Every number is tripled.",
        "hint": "How often is x added?",
    },
    "where": {"file": "a.py", "line": 3, "step": None},
}


def through_json(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a row after its way through JSON."""
    found: dict[str, Any] = json.loads(json.dumps(row, allow_nan=False))
    return found


def test_a_verdict_has_the_promised_fields() -> None:
    """Unknown ones are null, and so is an infinite error."""
    assert through_json(KNOWN.as_json()) == ROW
    bare = through_json(BARE.as_json())
    assert bare.keys() == ROW.keys()
    nothing = [name for name, value in bare.items() if value is None]
    assert nothing == [*ROW][-8:]


def test_a_verdict_crosses_whole() -> None:
    """A row of `results.jsonl` leaves out how many values are wrong."""
    for verdict in (KNOWN, BARE):
        assert read(Verdict, through_json(written(verdict))) == verdict


GRADE = dataclasses.replace(
    a_grade("ann", KNOWN, BARE, notes=("a note",), unexplained="too slow"),
    imports=Imports(("lost",)),
    carried=(Carried("run_x", "run_y", "tripled", 0.3), Carried("run_x", "run_y", "zeroed", 0.6)),
)


def test_a_whole_grade_is_read_back() -> None:
    """The row of `results.jsonl` holds neither notes nor imports."""
    whole = through_json(GRADE.as_json(whole=True))
    assert Grade.from_json(whole) == GRADE
    row = through_json(GRADE.as_json())
    assert whole.keys() - row.keys() == {"notes", "imports", "evidence"}
    assert row["schema"] == 1
    assert row["tests"][0] == ROW


def test_carried_points_come_on_top_of_the_score() -> None:
    """The sum is exact: 4 and 0.3 and 0.6."""
    assert GRADE.final == 4.9


def test_a_grade_is_complete_if_every_test_was_judged() -> None:
    """Otherwise the submission is graded again."""
    lost = a_verdict("run_z", 0.0, status=Status.NOT_GRADED)
    assert GRADE.is_complete
    assert not a_grade("ann", BARE, lost).is_complete
    assert not a_grade("ann", status=GradeStatus.NOT_GRADED).is_complete
    assert a_grade("ann", status=GradeStatus.UNREADABLE).is_complete


def test_verdicts_are_grouped_by_exercise_in_the_order_of_tests() -> None:
    """An exercise's tests need not stand together."""
    again = KNOWN._replace(id="u")
    assert by_exercise([KNOWN, BARE, again]) == {"run_x": [KNOWN, again], "run_y": [BARE]}


@pytest.mark.parametrize(
    ("root", "mistake", "is_full", "sentence"),
    [
        ("a", "m", True, "Its only error is that of a (m), where it was already deducted."),
        ("a", "m", False, "One error is that of a (m), where it was already deducted."),
        (
            "a + b",
            "m + n",
            True,
            "Its only errors are those of a (m) and b (n), where they were already deducted.",
        ),
        (
            "a + b",
            "m + n",
            False,
            "Two errors are those of a (m) and b (n), where they were already deducted.",
        ),
    ],
)
def test_carried_points_have_their_reason(
    root: str, mistake: str, is_full: bool, sentence: str
) -> None:
    """The words promise that nothing else is wrong only if the points are full."""
    assert Carried("run_x", root, mistake, 1.0).sentence(is_full) == sentence


@pytest.mark.parametrize("name", ["test_it", "test_it[a::b]", "TestIt::test_it[::]"])
def test_the_name_of_a_test_is_its_id_without_the_file(name: str) -> None:
    """A parameter may hold colons; an id without a file is a name already."""
    assert name_of_test(f"tests/hidden/test_x.py::{name}") == name
    assert name_of_test("test_it") == "test_it"
