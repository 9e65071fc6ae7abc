"""Rewrite rules that are rows: each does what it says, whatever stands in the gaps."""

from __future__ import annotations

import ast
import re

import pytest

from grader.explain.rewriting.generation import edits_of
from grader.explain.rewriting.patterns import Row
from grader.explain.rewriting.rows import ROWS

pytestmark = pytest.mark.unit


def results(line: str) -> set[str]:
    """Each program that an edit makes of one that returns a value, without its layout."""
    source = f"def f():\n    return {line}\n"
    return {ast.dump(ast.parse(edit.applied(source))) for edit in edits_of(source)}


def returning(line: str) -> str:
    return ast.dump(ast.parse(f"def f():\n    return {line}\n"))


def example(text: str) -> str:
    """A pattern with a variable in each gap, and with two arguments where several may stand."""
    return re.sub(r"\$(\w+)", r"\1", re.sub(r"\$\*(\w+)", r"\1, -1", text))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.before} -> {row.after}")
def test_a_row_does_what_it_says(row: Row):
    """A row is its own example."""
    assert returning(example(row.after)) in results(example(row.before))


def test_a_gap_takes_any_expression_and_keeps_its_text():
    """Parentheses come where the new place needs them, and nowhere else."""
    found = results("torch.cat((a + b, a + b), dim=-1)")
    assert returning("(a + b).repeat_interleave(2, dim=-1)") in found


def test_what_stands_twice_in_a_pattern_is_the_same_expression():
    """Two other tensors side by side are not one of them twice."""
    assert returning("a.repeat_interleave(2, dim=-1)") not in results("torch.cat((a, b), dim=-1)")


def test_no_further_arguments_leave_no_comma():
    """`$*given` may stand for nothing at all."""
    assert returning("torch.stack(a).flatten(-2)") in results("torch.cat(a)")
