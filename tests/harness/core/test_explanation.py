"""Explanations: which wrong answers are alike, and words that cross between processes."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from grader.core.evidence import Evidence, in_six_digits
from grader.core.explanation import (
    Told,
    Words,
    WrongAnswer,
    WrongAnswers,
    explained,
    lack_in_words,
    needs_words,
    spread_over,
)
from grader.core.verdict import Diagnosis, GradeStatus, Measurement, Status, Where
from tests.harness.export_fixtures import a_grade, a_verdict, not_graded

pytestmark = pytest.mark.unit

INF, NAN = math.inf, math.nan
# The relative and the absolute tolerance of every answer here.
TOLERANCE = (0.1, 0.01)


def wrong(*numbers: float, test: str = "t", call: int = 0, **fields: object) -> WrongAnswer:
    """Returns a wrong answer with these numbers."""
    known = {"plain": True, "shape": (len(numbers),), "tolerance": TOLERANCE}
    rest = {"inputs": "x: float32[2]", "size": 2}
    return WrongAnswer(test=test, call=call, numbers=numbers, **known | rest | fields)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (1.0, 1.0, True),
        (1.2, 1.0, True),
        (1.25, 1.0, True),
        (1.0, 1.25, True),
        (1.3, 1.0, False),
        (-1.2, -1.0, True),
        (-1.0, 1.0, False),
        (0.02, 0.0, True),
        (0.03, 0.0, False),
        (INF, INF, True),
        (NAN, NAN, True),
        (NAN, 1.0, False),
        (1.0, NAN, False),
        (INF, 1.0, False),
        (1.0, INF, False),
        (-INF, INF, False),
    ],
)
def test_two_numbers_are_alike_within_twice_the_tolerance(
    one: float, other: float, alike: bool
) -> None:
    """That is 0.02 and a fifth of the larger one. No finite number is near an infinity."""
    assert wrong(5.0, one).is_like(wrong(5.0, other), 2.0) is alike


def test_the_larger_tolerance_of_two_answers_counts() -> None:
    """One of them may have a dtype of less precision."""
    rough, exact = wrong(1.2), wrong(1.0, tolerance=(0.0, 0.0))
    assert rough.is_like(exact, 2.0)
    assert dataclasses.replace(exact, numbers=(1.2,)).is_like(wrong(1.0), 2.0)
    assert not exact.is_like(dataclasses.replace(exact, numbers=(1.2,)), 2.0)


def test_answers_of_another_shape_or_length_are_not_alike() -> None:
    """The same numbers may be laid out otherwise."""
    assert not wrong(1.0, 2.0).is_like(wrong(1.0, 2.0, shape=(2, 1)), 2.0)
    assert not wrong(1.0, 2.0).is_like(wrong(1.0, shape=(2,)), 2.0)
    assert wrong(1.0, test="t", call=3).key == ("t", 3)


@pytest.mark.parametrize(
    ("answers", "others", "alike"),
    [
        ([wrong(1.0)], [wrong(1.0)], True),
        ([wrong(1.0)], [wrong(2.0)], False),
        ([wrong(1.0)], [wrong(1.0), wrong(1.0, test="u")], False),
        ([wrong(1.0)], [wrong(1.0), wrong(1.0, test="u", plain=False)], True),
        ([wrong(1.0), wrong(9.0, test="u", plain=False)], [wrong(1.0)], True),
        (
            [wrong(1.0), wrong(9.0, test="u", plain=False)],
            [wrong(1.0), wrong(1.0, test="u", plain=False)],
            False,
        ),
        ([wrong(1.0)], [wrong(1.0, inputs="y")], False),
        ([wrong(1.0), wrong(1.0, call=1)], [wrong(1.0), wrong(9.0, call=1, inputs="y")], True),
        ([], [], False),
    ],
)
def test_submissions_are_alike_if_they_answer_alike_in_tests_of_values(
    answers: list[WrongAnswer], others: list[WrongAnswer], alike: bool
) -> None:
    """Other tests and changed inputs do not keep them apart, but nothing in common does."""
    one, other = (WrongAnswers("run_x", tuple(own)) for own in (answers, others))
    assert one.is_like(other, 2.0) is alike


def test_a_sample_is_spread_evenly_over_the_numbers() -> None:
    """The first and the last are in it, each in nine significant digits."""
    assert spread_over(range(24)) == tuple(range(24))
    assert spread_over(range(47)) == tuple(range(0, 47, 2))
    assert spread_over([1 / 3]) == (0.333333333,)


MEASURED = Measurement(0.5, INF, 1e-5, 1e-6, 9.0, 3, 4, (1, 2))
DIAGNOSIS = Diagnosis("tripled", "Every number is tripled.", "How often is x added?")
TOLD = Told("wrong", MEASURED, DIAGNOSIS, Where("a.py", 3, "scores"))
ANSWERS = WrongAnswers("run_x", (wrong(1.0, INF),), "a factor")
WORDS = Words(
    {"t": TOLD, "u": Told("no more")}, "all", Evidence(printed="so"), "too slow", (ANSWERS,)
)


@pytest.mark.parametrize(
    "words",
    [WORDS, Words(), Words(wrong=(WrongAnswers("run_x", ()),))],
    ids=["all", "none", "bare"],
)
def test_words_survive_the_way_between_processes(words: Words) -> None:
    """Infinities cross although JSON has none."""
    row = json.loads(json.dumps(words.as_json(), allow_nan=False))
    assert Words.from_json(row) == words


def test_evidence_that_was_unpacked_is_not_packed_again() -> None:
    """It crosses from its judge to the store packed."""
    packed = Evidence(printed="so").packed()
    unpacked = Evidence.unpacked(packed)
    assert unpacked == Evidence(printed="so")
    assert unpacked.packed() is packed


def test_numbers_of_a_picture_have_six_digits_and_no_minus_zero() -> None:
    """More digits would be most of a grade's size in the store."""
    assert repr(in_six_digits((2 / 3, -0.0, -INF))) == "(0.666667, 0.0, -inf)"


def test_words_change_no_outcome_and_no_score() -> None:
    """A test without words keeps its message, and so does a grade."""
    first = a_verdict("run_x", 1.0, message="judged")
    second = a_verdict("run_y", 1.0, message="judged", id="u")
    grade = a_grade("ann", first, second, message="told before")
    found = explained(grade, Words({"u": TOLD}, None, Evidence(printed="so"), "too slow"))
    assert found.tests == (
        first,
        second._replace(
            message="wrong", measurement=MEASURED, diagnosis=DIAGNOSIS, where=TOLD.where
        ),
    )
    assert (found.score, found.message) == (2.0, "told before")
    assert (found.evidence, found.unexplained) == (Evidence(printed="so"), "too slow")
    assert explained(grade, Words(message="whole")).message == "whole"


def test_only_a_grade_with_something_to_tell_needs_words() -> None:
    """Forbidden names may also be used by a program that passes."""
    passed = a_grade("ann", a_verdict("run_x"))
    failed = a_grade("ann", a_verdict("run_x"), a_verdict("run_y", 1.0))
    assert not needs_words(passed)
    assert needs_words(failed)
    assert not needs_words(not_graded("ann"))
    assert failed.tests[1].status is Status.FAILED
    assert not_graded("ann").status is GradeStatus.NOT_GRADED
    assert lack_in_words("too slow").endswith("does not affect the grade: too slow.")
