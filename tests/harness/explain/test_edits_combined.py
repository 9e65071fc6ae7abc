"""Edits of several lines: the same change in like places, and two changes that swap."""

from __future__ import annotations

import ast

import pytest

from grader.explain.repair.choice import chosen
from grader.explain.repair.search import FileEdit, RepairEdit
from grader.explain.repair.sources import EditableSources
from grader.explain.rewriting.combined import combined
from grader.explain.rewriting.generation import edits_of

pytestmark = pytest.mark.unit

RIGHT = """
import torch

def projected(x, w_q, w_k, w_v):
    q = x @ w_q.T
    k = x @ w_k.T
    v = x @ w_v.T
    return q, k, v

def loaded(model, q, k):
    model.load_state_dict({
        "q": q,
        "k": k,
    })

def table(angles, out):
    out[:, 0::2] = torch.sin(angles)
    out[:, 1::2] = torch.cos(angles)
    return out

def other(x, w_o):
    return x @ w_o.T
"""
SLIPS = {
    "missing everywhere": [(f"x @ w_{one}.T", f"x @ w_{one}") for one in "qkv"],
    "missing in adjacent lines": [(f"x @ w_{one}.T", f"x @ w_{one}") for one in "qk"],
    "added to each entry": [(f'"{one}": {one},', f'"{one}": {one}.T,') for one in "qk"],
    "swapped functions": [("sin(", "?("), ("cos(", "sin("), ("?(", "cos(")],
    "swapped names": [("w_q.T", "?"), ("w_k.T", "w_q.T"), ("?", "w_k.T")],
}


def edited(source: str) -> dict[str, tuple[int, ...]]:
    """Returns the programs that combinations make, each with the lines that change."""
    single = [one for one in edits_of(source) if len(one.lines) == 1]
    made = combined(source, single)
    return {ast.dump(ast.parse(one.applied(source))): one.lines for one in made}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_like_places_is_undone_by_one_combination(slip):
    """Only the lines with the slip change."""
    wrong = RIGHT
    for old, new in SLIPS[slip]:
        wrong = wrong.replace(old, new)
    lines = enumerate(zip(RIGHT.split("\n"), wrong.split("\n"), strict=True), 1)
    different = tuple(number for number, (old, new) in lines if old != new)
    assert len(different) > 1
    assert edited(wrong)[ast.dump(ast.parse(RIGHT))] == different


def test_changes_in_different_functions_are_not_combined():
    """A projection of another function keeps its transposition."""
    first, last = RIGHT.split("\n").index("    q = x @ w_q.T") + 1, RIGHT.count("\n")
    assert (first, first + 1, first + 2) in edited(RIGHT).values()
    assert not any({first, last} <= {*lines} for lines in edited(RIGHT).values())


def test_lines_that_change_together_are_told_together(tmp_path):
    """Each is quoted; the words do not say that one of them is enough."""
    wrong = RIGHT
    for name in "qkv":
        wrong = wrong.replace(f"x @ w_{name}.T", f"x @ w_{name}")
    (tmp_path / "heads.py").write_text(wrong)
    sources = EditableSources.below(tmp_path)
    single = [one for one in edits_of(wrong) if len(one.lines) == 1]
    three = [one for one in combined(wrong, single) if one.applied(wrong) == RIGHT]
    exercise = frozenset({"run_heads"})
    found = [RepairEdit(FileEdit("heads.py", one), 1.0, exercise, frozenset()) for one in three]
    choice = chosen(found, sources)
    assert choice is not None
    assert choice.in_words(shown=True).splitlines() == [
        "A transposition may be missing at heads.py:5, 6 and 7.",
        "Changing heads.py:5, 6 and 7 together fixes all failed tests of the exercise.",
        *("    q = x @ w_q", "    k = x @ w_k", "    v = x @ w_v"),
        "For example:",
        *("    q = x @ w_q.T", "    k = x @ w_k.T", "    v = x @ w_v.T"),
    ]
    assert "heads.py:5, 6 and 7 together fixes this test." in choice.in_words(is_all=False)


def test_one_of_several_like_changes_swaps_with_a_contrary_one():
    """RoPE that turns values in place of keys: one call goes, another comes."""
    wrong = "def heads(x, y, z):\n    return attend(turn(x), y, turn(z))\n"
    right = wrong.replace("y, turn(z)", "turn(y), z")
    assert ast.dump(ast.parse(right)) in edited(wrong)
