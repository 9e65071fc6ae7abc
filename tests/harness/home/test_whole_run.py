"""A whole run of pytest in a student's folder, in this process: the report, and what it leaves."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
import torch

from grader.explain.rewriting.slips import HANDED_OUT
from grader.home import causes
from tests.harness.home_runs import AtHome

pytestmark = pytest.mark.unit


@pytest.fixture
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AtHome:
    """A function that runs pytest with these bodies of the student's functions."""
    home = AtHome(tmp_path / "mine")
    monkeypatch.chdir(home.folder)
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    return home


EVERYTHING_RIGHT = """\
= exercises =
run_double  3 of 3 passed, 3.5 of 3.5 points
run_count   1 of 1 passed, 1 of 1 points
run_later   1 of 1 passed, 2 of 2 points

6.5 of 6.5 points. The other 3.5 come from hidden tests.

Done: every public test passes. Hand in `adapters.py` and `assignment/` as your course says.
= 5 passed =
"""


def test_a_run_that_passes_says_what_to_hand_in(at_home: AtHome) -> None:
    """Tests are sorted by the assignment's order of exercises."""
    ran = at_home()
    assert (ran.code, ran.report) == (0, EVERYTHING_RIGHT)


TWO_CAUSES = """\
= 4 failures of 2 kinds =
1. run_double: every number is tripled (assignment/__init__.py:4)
Hint: How often is x added?
test_doubles[(2, 3)]: Every number is doubled.
    every value is too large by the same factor
    6 of 6 values in the result are wrong; the worst by tolerance is at index [0, 2]: off by 1.76, \
120,870 times the tolerance
    Changing assignment/__init__.py:4 alone fixes all failed tests of the exercise.
        return 3 * x
Fails 3 tests in 1 exercise: `pytest -v` shows each.

2. run_count: the result is 1: 6 was expected
= exercises =
run_double  0 of 3 passed, 0 of 3.5 points
run_count   0 of 1 passed, 0 of 1 points
not implemented yet: run_later

0 of 6.5 points. The other 3.5 come from hidden tests.
= 4 failed, 1 missing =
"""


def test_causes_are_told_with_their_mistake_their_line_and_an_example(at_home: AtHome) -> None:
    """While something is wrong, nothing points to an exercise that is not written."""
    wrong = {"double": "return 3 * x", "count": "return 1"}
    ran = at_home("--locate", later="raise NotImplementedError", **wrong)
    assert (ran.code, ran.report) == (1, TWO_CAUSES)


IN_A_HELPER = """\
= 3 failures of 1 kind =
run_double: every value is too large by the same factor (assignment/__init__.py:6)
Check a constant in `scaled` at assignment/__init__.py:6.
test_doubles[(2, 3)]: Every number is doubled.
    6 of 6 values in the result are wrong; the worst by tolerance is at index [0, 2]: off by 5.29, \
362,611 times the tolerance
    Changing assignment/__init__.py:6 alone fixes all failed tests of the exercise.
        y = scaled(x, 5)
Fails 3 tests in 1 exercise: `pytest -v` shows each.
"""
HELPER = "def scaled(x, by):\n    return x * by\n"


def test_without_a_known_mistake_the_line_is_told(at_home: AtHome) -> None:
    """The student's own process is as before: modules, random numbers, threads and output."""
    before = torch.get_rng_state(), random.getstate(), torch.get_num_threads()
    said = "print('said', end='')\ny = scaled(x, 5)\nreturn y"
    ran = at_home("--locate", double=said.partition("\n")[2], above=HELPER)
    assert ran.report.startswith(IN_A_HELPER)
    after = torch.get_rng_state(), random.getstate(), torch.get_num_threads()
    assert torch.equal(before[0], after[0])
    assert before[1:] == after[1:]
    printing = at_home("--locate", double=said, above=HELPER).report
    assert printing.count("said") == 1
    assert "    Printed just before:\n        | said\n" in printing


def test_a_damaged_fixture_is_named_in_place_of_a_traceback(at_home: AtHome) -> None:
    """A download was cut off, or git keeps large files elsewhere."""
    file = at_home.folder / "tests/public/fixtures/test_tiny.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    ran = at_home()
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: tests/public/fixtures/{file.name} is damaged: take it from" in ran.complaint
    assert "INTERNALERROR" not in ran


def test_damaged_slips_cost_lines_and_no_mistake(at_home: AtHome) -> None:
    """A student may edit any file, and an author may be writing this one."""
    (at_home.folder / HANDED_OUT).write_text("{")
    report = at_home(double="return 3 * x").report
    assert "run_double: every number is tripled\nHint: How often is x added?" in report
    assert "fixes" not in report


def test_an_error_of_the_search_costs_its_words_alone(
    at_home: AtHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failures and points are told all the same."""

    def fails(*_: object, **__: object) -> None:
        raise LookupError

    monkeypatch.setattr(causes, "diagnose", fails)
    report = at_home(double="return 3 * x").report
    assert "The search for a line to change failed (LookupError)." in report
    assert "run_double  0 of 3 passed, 0 of 3.5 points" in report


def test_a_single_test_is_explained_as_well_as_all(at_home: AtHome) -> None:
    """The other frozen tests run again behind the scenes."""
    only = "tests/public/test_tiny.py::test_doubles[(4, 5)]"
    report = at_home("--locate", only, double="return 3 * x").report
    assert "run_double: every number is tripled (assignment/__init__.py:4)\n" in report
    assert (
        "Changing assignment/__init__.py:4 alone fixes all failed tests of the exercise.\n"
        in report
    )
    assert "0 of 1.5 points in the tests that ran; all public tests are worth 6.5.\n" in report


NOT_WRITTEN = """\
= exercises =
run_double  not implemented yet
run_count   not implemented yet
run_later   not implemented yet

0 of 6.5 points. The other 3.5 come from hidden tests.

Nothing is written yet. Start with run_double (assignment/__init__.py:4).
Write what its docstring asks for, then run `pytest tests/public/test_tiny.py`.
= 5 missing =
"""
NEXT = "Next: run_later (assignment/__init__.py:10).\n"


def test_the_first_exercise_that_is_not_written_comes_next(at_home: AtHome) -> None:
    """A workflow that runs pytest fails, although no test failed."""
    stub = "raise NotImplementedError"
    ran = at_home(double=stub, count=stub, later=stub)
    assert (ran.code, ran.report) == (1, NOT_WRITTEN)
    ran = at_home("-x", later=stub)
    assert (ran.code, "4 passed, 1 missing" in ran, NEXT in ran) == (1, True, True)


RAISED = """\
= 4 failures of 1 kind =
run_double: AttributeError: 'Tensor' object has no attribute 'doubled' \
(assignment/__init__.py:4; assignment/__init__.py:10)
test_doubles[(2, 3)]: Every number is doubled.
        return x.doubled()
        with x = float32[2, 3]
    Did you mean double?
    The test called run_double(x=float32[2, 3]).
Fails 4 tests in 2 exercises: `pytest -v` shows each.
= exercises =
run_double  0 of 3 passed, 0 of 3.5 points
run_later   0 of 1 passed, 0 of 2 points
all tests passed: 1 other exercise
"""


def test_an_exception_is_told_with_its_line_and_its_call(at_home: AtHome) -> None:
    """The same exception in another exercise is the same cause."""
    raises = "return x.doubled()"
    ran = at_home("--locate", double=raises, later=raises)
    assert (ran.code, ran.report.startswith(RAISED)) == (1, True)


VERBOSE = """\
Every number is doubled.
every value is wrong
A term may not belong at assignment/__init__.py:4.
6 of 6 values in the result are wrong; the worst by tolerance is at index [1, 1]: off by 0.5,
"""


def test_verbose_shows_every_failure_with_its_numbers(at_home: AtHome) -> None:
    """The causes and the exercises that are right stand below, and a summary names the tests."""
    ran = at_home("-v", "--locate", double="return 2 * x + 0.5")
    assert "platform " in ran
    assert VERBOSE.rstrip() in ran
    for first in ("test_doubles[(2, 3)]", "test_doubles[(4, 5)]", "test_doubles_a_row"):
        assert f"FAILED tests/public/test_tiny.py::{first} - run_double: a term may not" in ran
        assert ran.text.count(f"_ {first} _") == 1
    assert (
        ran.text.count(
            "Changing assignment/__init__.py:4 alone fixes all failed tests of the exercise."
        )
        == 3
    )
    end = ran.report[ran.report.index("= 3 failures of 1") :]
    assert end.startswith(
        "= 3 failures of 1 kind =\nrun_double: a term may not belong at "
        "assignment/__init__.py:4\n= exercises =\nrun_double  0 of 3 passed, 0 of 3.5 points\n"
        "run_count   1 of 1 passed, 1 of 1 points\n"
    )


NOTES = """
Note on run_double: uses torch.add (assignment/__init__.py:4), which must be written by hand in \
this assignment: 50% of this exercise's points are taken off.

Note on run_later: uses torch.sub (assignment/__init__.py:10), which must be written by hand in \
this assignment.

6.5 of 6.5 points. The other 3.5 come from hidden tests.

Every public test passes, but these points do not count what the notes above cost: change \
that first.
= 5 passed =
"""


def test_a_forbidden_name_is_noted_with_its_cost(at_home: AtHome) -> None:
    """A name without a cost is only noted; nobody is told to hand in what costs points."""
    ran = at_home(double="return torch.add(x, x)", later="return torch.sub(x, 0).relu()")
    assert (ran.code, ran.report.endswith(NOTES)) == (0, True)
    ran = at_home(double="return torch.add(x, x)", later="return -torch.sub(x, 0)")
    assert "50% of this exercise's points" in ran


NARROW = """\
= 3 failures of 2 kinds =
1. run_double: every value is wrong (assignment/__init__.py:5)
Check the sign of a term at assignment/__init__.py:5.
test_doubles[(2, 3)]: Every number is doubled.
    6 of 6 values in the result are wrong; the worst by tolerance is at index [0, 2]: off by 3.53, \
241,740 times the tolerance
    Changing assignment/__init__.py:5 fixes this test.
        return x - x
Fails 2 tests in 1 exercise: `pytest -v` shows each.

2. run_double: ValueError: not enough values to unpack (expected 2, got 1) \
(assignment/__init__.py:4)
"""


def test_a_line_that_fixes_some_tests_is_told_of_those(at_home: AtHome) -> None:
    """The others say that they still fail."""
    ran = at_home("--locate", double="rows, columns = x.shape\nreturn x - x")
    assert ran.report.startswith(NARROW)


def test_an_answer_that_depends_on_earlier_calls_says_so(at_home: AtHome) -> None:
    """No line of the call itself is to blame."""
    counting = "SEEN.append(1)\nreturn 2 * x if len(SEEN) < 2 else 3 * x"
    report = at_home("--locate", above="SEEN = []\n", double=counting).report
    assert "earlier call" in report
    assert "alone fixes all failed tests of the exercise" not in report
    assert "every number is tripled" not in report


def test_no_line_is_told_of_code_that_cannot_be_imported_twice(at_home: AtHome) -> None:
    """The known mistake is told all the same."""
    once = "import sys\nassert not hasattr(sys, 'once_at_home')\nsys.once_at_home = True\n"
    report = at_home("--locate", above=once, double="return 3 * x").report
    del sys.once_at_home
    assert report.startswith(
        "= 3 failures of 1 kind =\nrun_double: every number is tripled\nHint: How often is x"
    )
    for absent in ("fixes all failed tests", "`pytest --locate`", "Traceback", "AssertionError"):
        assert absent not in report


def test_code_that_cannot_be_imported_is_told_once(at_home: AtHome) -> None:
    """No test runs."""
    ran = at_home(double="return (x")
    assert ran.code == 4
    assert "no tests ran" in ran
    assert "Traceback" not in ran
    assert ran.complaint == (
        "ERROR: your code cannot be imported: SyntaxError: '(' was never closed "
        "(assignment/__init__.py:4)\n    return (x\n\n"
    )


MORE = """
import pytest
from grader.testing import exercise

@pytest.fixture
def broken():
    raise OSError('no disk')

@exercise('run_double')
def test_fixture(broken):
    pass

@exercise('run_double')
def test_body(student):
    {}['key']

@exercise('run_double')
def test_drawn(draw):
    draw(2)

@exercise('run_double')
def test_said():
    assert 1 == 2, "one is not two"

@exercise('run_double')
def test_nothing_said():
    assert 1 == 2

@exercise('run_double')
def test_unknown(nothing):
    pass
"""


def test_a_test_that_breaks_is_no_fault_of_the_student(at_home: AtHome) -> None:
    """The error may be in a fixture, in the body, or in the author's own words."""
    (at_home.folder / "tests/public/test_more.py").write_text(MORE)
    ran = at_home("-v")
    broke = "the test itself broke, not your code: "
    for said in (
        f"{broke}OSError: no disk (tests/public/test_more.py:7)",
        f"{broke}KeyError: 'key' (tests/public/test_more.py:15)",
        f"{broke}there is no fixture nothing",
        "there are no fixture tensors for this test: `grader freeze` makes them",
        "\none is not two\n",
        "\nassert 1 == 2\n",
    ):
        assert said in ran
