"""The weight of an edit: which signs in the source make it a likelier slip, and by how much."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.explain.repair.ranking import EditRanking
from grader.explain.repair.search import FileEdit
from grader.explain.repair.sources import EditableSources
from grader.explain.rewriting.edit import Edit, Replacement
from tests.harness.undoing import ATTENTION

pytestmark = pytest.mark.unit


def weight(folder: Path, program: str, change: str, kind: str = "any", file: str = "a.py") -> float:
    """Returns the weight of an edit without a cost; a change is `old => new`."""
    (folder / file).write_text(program)
    old, new = change.split(" => ")
    start = program.index(old)
    line = program[:start].count("\n") + 1
    piece = Replacement(start, start + len(old), new)
    edit = Edit(kind, line, (line,), 0.0, (piece,), "a part", True)
    ranking = EditRanking(EditableSources.below(folder, ATTENTION), "adapters.py")
    return round(ranking.weight(FileEdit(file, edit)), 3)


PLAIN = "def f(x):\n    y = x + 1\n    return y * 2\n"
TWINS = "def f(x):\n    y = x + 1\n    y = x + 1\n    return y\n"
ALIKE = "def f(x):\n    a = g(x, 0)\n    b = g(x, 0)\n    return a, b\n"
UNLIKE = ALIKE.replace("b = g(x, 0)", "b = g(x, 1)")
SPARE = "def f(x, p):\n    return x * 2\n"
USED = "def f(x, p):\n    x = x + p\n    return x * 2\n"
GIVEN = "def f(x, p=None):\n    if p is not None:\n        pass\n    return x * p\n"
METHOD = "class A:\n    def f(self, x):\n        return x * 2\n"
IDLE = "def f(x, y):\n    w = x\n    return w * 2, x, y\n"
SAME = "def f(w):\n    w.a = w.a\n    return w\n"
TRUTH = "def f(x):\n    w = True\n    return w, x\n"
TARGETS = "def f(value):\n    value_out = value * 2\n    moved = 0\n    return moved\n"
READ = TARGETS.replace("return moved", "return moved, value_out")
NAMES = "def f(p_in, p_out):\n    {} p_in * 2\n    return out, p_in, p_out\n"
ENTRY = 'def f(p_in, p_out):\n    return {\n    "out": p_in,\n    "one": p_out,\n    }, p_in\n'
LIKE_TARGET = "def f(p_in, p_out):\n    out = g(p_in)\n    b = g(p_in)\n    return out, b, p_out\n"
FLAG = "def f(x, is_causal):\n    y = x * 2\n    if x:\n        g(is_causal)\n    return y @ x\n"
SCALE = "def f(x, w, scale):\n    y = x @ w\n    return y, x + scale\n"
MASKED = "def f(x, m):\n    y = x * 2\n    return y.masked_fill(m, 0)\n"
TEXT = 'def f(x, p):\n    return g("p", x)\n'
FORMAT = 'def f(x, p):\n    return g(f"{p}", x)\n'
ORDER = "def f(first, second, x):\n    g(first, second, x)\n    return {}\n"
TURN = "def f(x, first, y, second):\n    return (first, second), x, y\n"
ONCE = "def f(x):\n    s, t = x\n    return ({})\n"
PAIRS = "def f(x):\n    s, t = x\n    g(s, t)\n    return ({})\n"


@pytest.mark.parametrize(
    ("program", "change", "expected"),
    [
        (PLAIN, "x + 1 => x + 3", 0.0),
        (TWINS, "x + 1 => x + 3", 0.1),
        (ALIKE, "a = g(x, 0) => a = g(x, 3)", 0.35),
        (UNLIKE, "a = g(x, 0) => a = g(x, 3)", 0.0),
        ("a = g(0)\nb = g(0)\n", "a = g(0) => a = g(3)", 0.0),
        (PLAIN, "x + 1 => x - x", 1.0),
        (PLAIN.replace("x + 1", "x - x"), "x - x => x - x + 1", 0.0),
        (PLAIN.replace("y * 2", "y"), "return y => return y * 2", 0.1),
        ("def f(y):\n    return y", "return y => return y * 2", 0.1),
        ("def run_f(x):\n    y = x + 1\n    return y\n", "return y => return x", 0.0),
        (PLAIN, "return y * 2 => return y * 2 + 1", 0.0),
    ],
)
def test_lines_that_stand_twice_and_senseless_results_are_less_likely(
    tmp_path, program, change, expected
):
    """A change at a return of a variable fits better where the variable is set."""
    assert weight(tmp_path, program, change) == expected


def test_adapters_are_less_likely_than_other_files(tmp_path):
    assert weight(tmp_path, PLAIN, "x + 1 => x + 3", file="adapters.py") == 0.01


@pytest.mark.parametrize(
    ("program", "change", "kind", "expected"),
    [
        (SPARE, "x * 2 => x * p", "any", -1.0),
        (USED, "x * 2 => x * p", "any", 0.0),
        (SPARE, "x * 2 => x * other", "any", 0.0),
        (USED, "x + p => x + 1", "any", 1.0),
        (USED.replace("f(", "run_f("), "x + p => x + 1", "any", 0.0),
        (GIVEN, "x * p => x * 2", "any", 1.0),
        (METHOD, "x * 2 => self * 2 + x", "any", 0.0),
        (IDLE, "w = x => w = x * 2", "any", -0.6),
        (IDLE, "w = x => w = y", "any", 0.0),
        (SAME, "w.a = w.a => w.a = w.a * 2", "any", -0.6),
        (TRUTH, "w = True => w = True + 1", "any", 0.0),
        (TARGETS, "value_out = => moved =", "target", -0.6),
        (READ, "value_out = => moved =", "target", 0.0),
        (TEXT, '"p" => "z"', "any", 0.0),
        (FORMAT, "{p} => {2}", "any", 1.0),
    ],
)
def test_an_edit_that_uses_an_unused_name_is_likelier(tmp_path, program, change, kind, expected):
    """One that leaves a name unused is less likely; a comparison with None is no use."""
    assert weight(tmp_path, program, change, kind) == expected


@pytest.mark.parametrize(
    ("program", "change", "expected"),
    [
        (NAMES.format("out ="), "p_in * 2 => p_out * 2", -0.35),
        (NAMES.format("out_in ="), "p_in * 2 => p_out * 2", 0.0),
        (NAMES.format("p_in ="), "p_in * 2 => p_out * 2", 0.35),
        (NAMES.format("output ="), "p_in * 2 => p_out * 2", -0.35),
        (NAMES.format("inner ="), "p_in * 2 => p_out * 2", 0.0),
        (
            "def f(p_in, p):\n    inner = p_in * 2\n    return inner, p_in, p\n",
            "p_in * 2 => p * 2",
            0.0,
        ),
        (NAMES.format("out =="), "p_in * 2 => p_out * 2", 0.0),
        (NAMES.format("out ="), "p_in * 2 => p_in * 3", 0.0),
        (ENTRY, '"out": p_in => "out": p_out', -0.35),
        (LIKE_TARGET, "out = g(p_in) => out = g(p_out)", -0.35),
    ],
)
def test_a_value_is_likelier_made_of_names_like_its_target(tmp_path, program, change, expected):
    """A word of three letters may be short for another; two letters say nothing."""
    assert weight(tmp_path, program, change) == expected


@pytest.mark.parametrize(
    ("program", "change", "kind", "expected"),
    [
        (FLAG, "x * 2 => x * 2 * is_causal", "forgotten", 0.35),
        (FLAG, "x * 2 => x * 2 * is_causal", "any", 0.0),
        (FLAG, "if x: => if x and is_causal:", "forgotten", 0.0),
        (FLAG, "y @ x => y @ x * is_causal", "forgotten", 0.35),
        (SCALE, "x @ w => x @ w / scale", "forgotten", -0.1),
        (SCALE, "x @ w => x @ w / scale", "any", 0.0),
        (SCALE, "y, x + scale => y / scale, x + scale", "forgotten", 0.0),
        (MASKED, "x * 2 => x.tril() * 2", "any", 0.6),
        (MASKED, "x * 2 => x * 3", "any", 0.0),
        (MASKED, "x * 2 => x - x.max()", "any", 0.0),
        (PLAIN, "x + 1 => x.tril() + 1", "any", 0.0),
    ],
)
def test_a_forgotten_part_is_likelier_where_it_usually_stands(
    tmp_path, program, change, kind, expected
):
    """A flag stands in a condition, a factor at a product; nobody masks twice."""
    assert weight(tmp_path, program, change, kind) == expected


@pytest.mark.parametrize(
    ("program", "change", "expected"),
    [
        (ORDER.format("second, first"), "return second, first => return first, second", -0.6),
        (ORDER.format("first, second"), "return first, second => return second, first", 1.6),
        (ORDER.format("first, x"), "return first, x => return second, first", 0.8),
        (ORDER.format("first > second"), "return first > second => return second < first", 0.0),
        (TURN, "(first, second) => (-second, first)", 0.0),
    ],
)
def test_an_edit_that_puts_names_in_order_is_likelier(tmp_path, program, change, expected):
    """The sides of a comparison have no order, and a quarter turn swaps with a sign."""
    assert weight(tmp_path, program, change) == expected


@pytest.mark.parametrize(
    ("program", "change", "expected"),
    [
        (PAIRS.format("t, s"), "(t, s) => (s, t)", -0.4),
        (PAIRS.format("s, t"), "return (s, t) => return (t, s)", 0.4),
        (PAIRS.format("t, s"), "(t, s) => (t, 3)", -0.4),
        (ONCE.format("t, s"), "(t, s) => (s, t)", 0.0),
        (ONCE.format("s, t"), "(s, t) => (t, s)", 0.0),
    ],
)
def test_an_order_is_usual_if_the_program_has_it_twice_more_often(
    tmp_path, program, change, expected
):
    assert weight(tmp_path, program, change) == expected
