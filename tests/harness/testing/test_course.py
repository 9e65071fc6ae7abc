"""The course's own code: references, mistakes and what exercises build on; marks of tests."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.core.assignment import BadAssignment
from grader.core.verdict import Aspect
from grader.testing.course import (
    Foundations,
    course_code,
    load_contract,
    load_foundations,
    load_references,
    make_importable,
)
from grader.testing.exercise import Membership, aspect, exercise, membership, subject_of
from tests.harness.conftest import TINY, write_files
from tests.harness.opened_suites import other_course

pytestmark = pytest.mark.unit

BOTH = ("run_double", "run_count")
BUILDS_ON = "\nBUILDS_ON = {'run_count': ('run_double',)}\n"
MISTAKES = TINY["solutions/mistakes.py"]


@pytest.fixture(autouse=True)
def apart():
    """Each test imports a course of its own."""
    with other_course():
        yield


def a_course(folder: Path, mistakes: str | None = None) -> Path:
    """Returns a course with these mistakes."""
    files = {name: TINY[name] for name in ("adapters.py", "assignment/__init__.py")}
    files["solutions/__init__.py"] = (
        textwrap.dedent(TINY["solutions/__init__.py"]) + "\nhelper = run_double\n"
    )
    if mistakes is not None:
        files["solutions/mistakes.py"] = mistakes
    return write_files(folder, files)


def test_the_course_comes_first_on_the_path_and_once(tmp_path):
    make_importable(tmp_path)
    make_importable(tmp_path)
    assert sys.path[0] == str(tmp_path)
    assert sys.path.count(str(tmp_path)) == 1


def test_exercises_that_build_on_each_other_may_share_code():
    """A change of that code may break either."""
    foundations = Foundations({"b": ("a",), "c": ("b", "a"), "d": ("c",)})
    assert foundations.sharing_with("a") == {"a", "b", "c"}
    assert foundations.sharing_with("d") == {"d", "c"}


def test_the_contract_holds_adapters_alone(tmp_path):
    """Imports and helpers of `adapters.py` are none."""
    assert [*load_contract(a_course(tmp_path))] == [*BOTH]


def test_references_are_found_where_they_are_handed_out(tmp_path):
    """At home there are none."""
    found = load_references(a_course(tmp_path))
    assert [*found] == [*BOTH]
    assert found["run_double"](4) == 8
    assert load_references(tmp_path / "assignment") == {}


def test_what_exercises_build_on_is_read_with_the_mistakes(tmp_path):
    """Without `BUILDS_ON` no points come back, so that no mistake is needed."""
    course = a_course(tmp_path, textwrap.dedent(MISTAKES) + BUILDS_ON)
    found = load_foundations(course, BOTH)
    assert found.builds_on == {"run_count": ("run_double",)}
    assert found.shared("run_count", "run_double") == ["zeroed", "rows-counted"]
    assert found.shared("run_double", "run_double")[:2] == ["tripled", "shifted"]
    assert [one(1) for one in found.variants("tripled", "run_double")] == [3, 4]
    assert found.variants("tripled", "run_count") == ()


@pytest.mark.parametrize("mistakes", [None, textwrap.dedent(MISTAKES), "BUILDS_ON = {}"])
def test_a_course_may_build_on_nothing(tmp_path, mistakes):
    """The module of mistakes may be missing too."""
    found = load_foundations(a_course(tmp_path, mistakes), BOTH)
    assert (found.builds_on, found.mistakes) == ({}, {})
    assert found.variants("a", "run_double") == ()
    assert load_foundations(tmp_path / "assignment", BOTH) == Foundations()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("{'run_cuont': ('run_double',)}", "BUILDS_ON names 'run_cuont', .* run_count"),
        ("{'run_count': ('run_a',)}", "BUILDS_ON names 'run_a', which is not an exercise"),
        (
            "{'run_count': ('run_double',), 'run_double': ('run_count',)}",
            "BUILDS_ON goes in a circle: run_.* builds on run_.* builds on run_",
        ),
        ("1 / 0", r"cannot be used: ZeroDivisionError: division by zero \(solutions/mis.*py:\d+\)"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path, table, said):
    course = a_course(tmp_path, f"{textwrap.dedent(MISTAKES)}\nBUILDS_ON = {table}\n")
    with pytest.raises(BadAssignment, match=said):
        load_foundations(course, BOTH)


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (BadAssignment("as it is"), "^as it is$"),
        (ValueError("two\n  lines"), "^adapters.py cannot be used: ValueError: two lines$"),
        (SystemExit(3), "^adapters.py cannot be used: SystemExit: 3$"),
    ],
)
def test_an_exception_of_the_course_is_told_to_its_author(tmp_path, raised, said):
    with pytest.raises(BadAssignment, match=said), course_code("adapters.py", tmp_path):
        raise raised


def test_an_interrupt_is_no_fault_of_the_course(tmp_path):
    with pytest.raises(KeyboardInterrupt), course_code("adapters.py", tmp_path):
        raise KeyboardInterrupt


# --- Marks --------------------------------------------------------------------------------------


class Item:
    """A collected test with these marks, the closest first."""

    def __init__(self, *marks: Any, function: Any = None) -> None:
        self.marks = {decorator.mark.name: decorator.mark for decorator in reversed(marks)}
        if function is not None:
            self.function = function

    def get_closest_marker(self, name: str) -> Any:
        return self.marks.get(name)


def test_a_test_belongs_to_an_exercise_an_aspect_and_weighs_one():
    """A parameter may have another aspect."""
    plain: Any = exercise("run_x")
    other: Any = exercise("run_x", aspect="numerics", weight=2.5)
    assert membership(Item(plain)) == Membership("run_x", Aspect.VALUES, 1.0)
    assert membership(Item(other)) == Membership("run_x", Aspect.NUMERICS, 2.5)
    both = Item(aspect("gradients"), other)
    assert membership(both) == Membership("run_x", Aspect.GRADIENTS, 2.5)
    assert membership(Item(aspect("gradients"))) is None


@pytest.mark.parametrize("name", ["value", "", "VALUES"])
def test_an_unknown_aspect_is_refused_where_it_is_written(name):
    for mark in (lambda: aspect(name), lambda: exercise("run_x", aspect=name)):
        with pytest.raises(
            ValueError,
            match=f"there is no aspect {name!r}: (did you mean values|there is values, )",
        ):
            mark()


@pytest.mark.parametrize(
    ("docstring", "about"),
    [("\n  Many are.\n\n  More.\n", "Many are."), ("One.", "One."), ("  ", ""), (None, "")],
)
def test_a_test_is_about_the_first_line_of_its_docstring(docstring, about):
    """A test without a function, as a plugin may bring, is about nothing."""
    function = SimpleNamespace(__doc__=docstring)
    assert subject_of(Item(function=function)) == about
    assert subject_of(Item()) == ""
