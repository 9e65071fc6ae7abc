"""Repairs of submissions in memory: the edits that prove a line, and those that prove nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.core.verdict import Where
from grader.core.wire.trials import KINDS, Passed, Seen
from grader.explain.repair.search import FileEdit, RepairEdit, schedule
from grader.explain.repair.sources import EditableSources
from grader.explain.rewriting.edit import Edit, Replacement
from grader.worker.trials import trials
from tests.harness.conftest import write_files
from tests.harness.explained_here import RIGHT, Course

pytestmark = pytest.mark.unit

DOUBLES = "t::doubles"


@pytest.fixture
def course(monkeypatch, tmp_path) -> Course:
    """A small course whose explainer works in this process."""
    return Course(monkeypatch, tmp_path, edits=True)


def test_a_line_whose_edit_breaks_another_exercise_is_not_named(course):
    """The constant is right for the second exercise."""
    program = (
        "FACTOR = 3\n\ndef run_double(x):\n    return FACTOR * x\n\n"
        "def run_count(x):\n    return x.numel() * FACTOR // 3\n"
    )
    assert course.words(program).tests[DOUBLES].where != Where("adapters.py", 1)
    alone = program.replace("x.numel() * FACTOR // 3", "x.numel()")
    words = course.words(alone)
    assert {words.tests[DOUBLES].where} <= {Where("adapters.py", 1), Where("adapters.py", 4)}


def test_a_right_call_that_no_trial_answers_is_not_broken_by_edits(course, monkeypatch):
    """Its answer is too large to cross, with an edit and without."""
    monkeypatch.setattr(trials, "_MOST_NUMBERS", 6)
    deep = "if x.dim() == 3:\n        return x + x\n    return 3 * x"
    words = course.words(RIGHT.replace("return 2 * x", deep))
    assert words.tests[DOUBLES].where == Where("adapters.py", 4)


def test_two_slips_in_one_function_are_not_told_as_one_line(course):
    """No single edit makes the answer right."""
    program = RIGHT.replace(
        "return 2 * x", "y = (x - 1.25) * 2.5\n    return y.sin() + 0.3 * x.exp()"
    )
    words = course.words(program)
    assert words.tests[DOUBLES].where is None
    (repair,) = words.evidence.repairs
    assert (repair.exercises, repair.places) == ((), ())


def test_two_exercises_with_one_wrong_line_are_repaired_together(course):
    """Its edit makes both right, and is searched once."""
    program = (
        "def twice(n):\n    return 3 * n\n\ndef run_double(x):\n    return twice(x)\n\n"
        "def run_count(x):\n    return twice(x.numel()) // 2\n"
    )
    words = course.words(program)
    assert words.tests[DOUBLES].where == Where("adapters.py", 2)
    assert words.tests["t::counts"].where == Where("adapters.py", 2)
    (repair,) = words.evidence.repairs
    assert repair.exercises == ("run_count", "run_double")


TRIPLES = RIGHT.replace("2 * x", "3 * x")


@pytest.mark.parametrize(
    ("given", "named"), [(TRIPLES, None), (RIGHT, Where("adapters.py", 2))], ids=["same", "other"]
)
def test_a_line_that_was_handed_out_is_not_named(course, tmp_path_factory, given, named):
    """No student wrote it."""
    root = write_files(tmp_path_factory.mktemp("course"), {"adapters.py": given})
    course.suite.assignment = replace(course.suite.assignment, root=root)
    assert course.words(TRIPLES).tests[DOUBLES].where == named


def edit(start: int, text: str) -> Edit:
    return Edit("constant", 1, (1,), 1.0, (Replacement(start, start + 1, text),), "a factor", True)


def test_a_repair_is_whole_if_it_fixes_all_and_breaks_nothing():
    """Either alone is not enough."""
    made, one = FileEdit("a.py", edit(2, "5")), frozenset({"run"})
    assert RepairEdit(made, 1.0, one, frozenset()).is_whole
    assert not RepairEdit(made, 0.5, one, frozenset()).is_whole
    assert not RepairEdit(made, 1.0, one, frozenset({"run_b"})).is_whole


def test_edits_are_scheduled_by_cost_then_by_place(tmp_path):
    """Very long texts are left out, because one frame holds hundreds of edits."""
    (tmp_path / "b.py").write_text("def f(x):\n    return x + 1\n")
    (tmp_path / "a.py").write_text(f"def g(x):\n    return x - {'1' * 700}\n")
    sources = EditableSources.below(tmp_path)
    passed = [Passed("b.py", (2,)), Passed("a.py", (2,))]
    found, likely = schedule(sources, passed)
    assert likely == sum(one.edit.cost <= 1.5 for one in found)
    keys = [(one.edit.cost, one.file, one.edit.line) for one in found]
    assert keys == sorted(keys)
    assert {one.file for one in found} == {"a.py", "b.py"}
    longest = max(sum(len(piece.text) for piece in one.edit.replacements) for one in found)
    assert longest <= 600
    assert schedule(sources, [Passed("b.py", (1,))]) == ([], 0)


def test_lines_that_right_exercises_run_are_tried_last(tmp_path):
    """Among these, the cheapest edits come first as well."""
    (tmp_path / "a.py").write_text("def f(x):\n    x = x + 1\n    return x - 1\n")
    sources = EditableSources.below(tmp_path)
    found, likely = schedule(sources, [Passed("a.py", (2, 3))], frozenset({("a.py", 2)}))
    places = [(one.edit.cost + (one.edit.lines == (2,)), one.edit.line) for one in found]
    assert places == sorted(places)
    assert likely < sum(one.edit.cost <= 1.5 for one in found)


def test_edits_follow_what_variables_were_seen_to_hold(tmp_path):
    """The names tell nothing here: numbers have no `exp`, and one may be subtracted."""
    (tmp_path / "a.py").write_text("def f(it, warm, end):\n    return (it - warm) / end\n")
    sources, lines = EditableSources.below(tmp_path), (2,)
    numbers = tuple(Seen(1, name, KINDS.index("int")) for name in ("it", "warm", "end"))
    guessed, seen = (
        {edit.edit.applied(sources.text("a.py")).split("return ")[1].strip() for edit in found}
        for found, _ in (
            schedule(sources, [Passed("a.py", lines)]),
            schedule(sources, [Passed("a.py", lines, numbers)]),
        )
    )
    assert "((it - warm) / end).exp()" in guessed - seen
    assert "(it - warm) / (end - warm)" in seen - guessed
