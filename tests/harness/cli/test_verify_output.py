"""`grader verify` prints a row for each mistake, a line for each fault, and the counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.authoring.test_verification_results import (
    ALONE,
    COUNTS,
    DOUBLES,
    NONE,
    ONE_MORE,
    ONES,
    flawed,
)
from tests.harness.conftest import TINY, write_files
from tests.harness.own_command import grader_here
from tests.harness.own_course import imported_alone

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """An assignment with a fault of every kind."""
    return flawed(tmp_path_factory.mktemp("flawed"))


def rows(printed: str) -> list[str]:
    """Returns the lines with single blanks and without the lines of tables."""
    return [" ".join(line.replace("│", " ").split()) for line in printed.splitlines()]


def test_verify_prints_all_faults_of_an_assignment(course):
    """The exit code is 1. Tables count exercises, ways, and those caught and named."""
    with imported_alone():
        done = grader_here("verify", "--tests", "--assignment", course)
    assert (done.returncode, done.stderr) == (1, "")
    lines = rows(done.stdout)
    assert lines[:4] == [ONE_MORE, "rows, nothing", COUNTS, "rows, nothing"]
    assert lines[lines.index(ALONE) + 1] == "refused, in-place"
    tables = [line for line in lines if line and line[-1].isdigit()]
    assert tables == [
        "nothing 1 1 1 1",
        "refused 1 1 1 0",
        "right 1 1 0 0",
        "rows 1 1 1 0",
        "tripled 1 2 2 2",
        "in-place 1 1 1",
    ]
    last = lines.index("in-place 1 1 1")
    told = [line for line in lines[last + 1 :] if line and not line.startswith("└")]
    raises = "it raises where it is wrong, and a mistake is named by its answers"
    once = (
        "it shows in one case of values or generality (two are needed: another parameter or "
        "another test)"
    )
    unjust = told.pop(2)
    assert unjust.startswith(f"the reference fails {ONE_MORE}: ")
    assert told.pop(3).startswith(f"the right variant 'flat' fails {ONE_MORE}: ")
    assert told == [
        f"refused in run_double, way 1: caught, and not named: {raises}",
        f"rows in run_count, way 1: caught, and not named: {once}",
        f"the right variant 'flat' fails {COUNTS}: does not hold: The numbers are counted "
        "(the result is 3: 6 was expected)",
        "right in run_double passes every test",
        f"nothing wrong fails {NONE}: add a mistake or a habit that does",
        f"answers remembered from another draw pass {ONES}: draw its inputs",
        "BUILDS_ON says that run_count builds on run_double, and no mistake is known in both",
        "halved does not answer in run_double as solutions/seen/halved.toml says that a class "
        "did: list it in MISTAKES, with a variant that does",
        "[tool.grader.forbidden] lists aten::softmx, which does not exist: did you mean "
        "aten::softmax?",
        "6 wrong functions: 5 caught, 3 named, 0 misnamed; 1 with habits: 1 caught",
    ]
    assert DOUBLES in lines


SOUND = """
    import torch
    from grader.testing import assert_matches, exercise

    @exercise("run_double")
    def test_doubles(student, reference, draw):
        '''Every number is doubled.'''
        x = draw(2, 3)
        assert_matches(student(x), reference(x))

    @exercise("run_count")
    def test_counts(student, reference, draw):
        '''The numbers are counted.'''
        x = draw(2, 3)
        assert_matches(student(x), reference(x))
"""


def test_verify_of_a_sound_assignment_exits_with_zero(tmp_path):
    """Without habits there is no table of them, and the tests are listed only on request."""
    files = {name: text for name, text in TINY.items() if "hidden" not in name}
    root = write_files(tmp_path / "sound", files | {"tests/public/test_tiny.py": SOUND})
    with imported_alone():
        done = grader_here("verify", "--assignment", root)
    assert (done.returncode, done.stderr) == (0, "")
    assert "habit" not in done.stdout
    assert "test_doubles" not in done.stdout
    last = done.stdout.splitlines()[-1]
    assert last == "9 wrong functions: 9 caught, 0 named, 0 misnamed"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--edits", "--seeds", "2"), "--edits and --seeds cannot be combined: give one of them"),
        (("--exercise", "run_double"), "--exercise needs --edits or --seeds: without them all"),
        (("--seeds", "1"), "1 is not in the range x>=2"),
        (("--edits", "--jobs", "0"), "0 is not in the range x>=1"),
        (
            ("--edits", "--exercise", "run_double", "--exercise", "run_nothing"),
            "the assignment has no exercise run_nothing: run_double, run_count",
        ),
    ],
    ids=" ".join,
)
def test_options_of_verify_that_do_not_fit_are_refused(tiny, words, said):
    """The exit code is 2, and nothing is tried."""
    done = grader_here("verify", "--assignment", tiny, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
