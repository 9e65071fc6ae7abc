"""Rewrite rules as rows of a table: each makes its example, whatever fills its gaps."""

from __future__ import annotations

import ast
import re

import pytest

from grader.explain.rewriting.ingredients import Wanted
from grader.explain.rewriting.patterns import Row
from grader.explain.rewriting.positions import Position
from grader.explain.rewriting.program.vocabulary import Nature
from grader.explain.rewriting.slips import Slips, slips_of_engine
from tests.harness.marks import rest_long
from tests.harness.undoing import Programs, edits_of

pytestmark = pytest.mark.unit

HOLE = re.compile(r"\$(\w+)")
# Statements with a place for an expression.
LINES = {
    Position.STORED: "return {}",
    Position.RETURNED: "return {}",
    Position.RENAMED: "second = {}",
    Position.UNPACKED: "a, b = {}, 1",
    Position.FACTOR: "return {} @ one",
    Position.ENTRY: "return made(({}, 1))",
    Position.GIVEN: "return made({})",
    Position.NAMED: "return made(given={})",
    Position.OPERAND: "return {} + 1",
    Position.SECOND: "return one @ {}",
    Position.FIRST: "return {} @ one",
    Position.DIVISOR: "return one / {}",
    Position.DIVIDED: "return {} / one",
    Position.BOUND: "return range({})",
    Position.COUNT: "return made({})",
    Position.PRODUCT: "return {}",
    Position.WEIGHED: "return torch.softmax({}, dim=-1)",
    Position.ROOT: "return math.sqrt({})",
    Position.OVERWRITING: "{}",
    Position.CONDITION: "if {}:\n        return one",
    Position.HANDED_ON: "return f({})",
}
# The first that fits one of the wanted natures.
ANNOTATIONS = {
    Nature.TENSOR: "Tensor",
    Nature.WEIGHT: "Tensor",
    Nature.MASK: "Bool[Tensor]",
    Nature.SIZE: "int",
    Nature.NUMBER: "float",
    Nature.FLAG: "bool",
    Nature.OTHER: "str",
}
ROWS = slips_of_engine().rows
ANY = Wanted()


def results(line: str, given: str = "") -> Programs:
    """Returns the programs that edits make of a function with this line."""
    source = function(line, given)
    return Programs(source, edits_of(source))


def function(line: str, given: str = "") -> str:
    return f"def f({given}):\n    {line}\n"


def variable(row: Row, name: str) -> str:
    """Returns a variable for a gap; a gap for a weight gets the name of a weight."""
    if name == "x" and Position.PRODUCT in row.at:
        return "(one @ two)"
    return f"w_{name}" if row.where.get(name, ANY).natures == {Nature.WEIGHT} else name


def example(row: Row, text: str) -> str:
    """Returns a pattern with a variable in each gap, and two arguments where several may stand."""
    text = re.sub(r"\$\*\*(\w+)", r"\1=-1", text)
    text = re.sub(r"\$\*(\w+)", r"\1, -1", text)
    return HOLE.sub(lambda found: variable(row, found[1]), text)


def parameters(row: Row) -> str:
    """Returns a row's variables, ingredients first, annotated with their types."""
    names = dict.fromkeys(reversed(HOLE.findall(row.before + row.after)))
    free = [name for name in names if f"${name}" not in row.before]
    ordered = dict.fromkeys([*free, *names])
    own = {variable(row, name): annotation(row.where.get(name, ANY)) for name in ordered}
    own = {name: kind for name, kind in own.items() if name.isidentifier()}
    told = [f"{name}: {kind}" if kind else name for name, kind in own.items()]
    return ", ".join([*told, "one: Tensor", "two: Tensor"])


def annotation(wanted: Wanted) -> str | None:
    return next((kind for nature, kind in ANNOTATIONS.items() if nature in wanted.natures), None)


def lines(row: Row) -> list[str]:
    if row.before.startswith("["):
        return ["return x{}"]
    if isinstance(ast.parse(example(row, row.before)).body[0], ast.Expr):
        return [LINES[place] for place in row.at] or ["return {}"]
    return ["{}"]


@pytest.mark.parametrize("row", rest_long(ROWS, 6), ids=lambda row: f"{row.before} -> {row.after}")
def test_each_rewrite_row_turns_its_before_into_its_after(row: Row):
    """Each row is its own example, at each of its positions."""
    before, after = (example(row, text) for text in (row.before, row.after))
    for line in lines(row):
        wanted = line.format(after if line in ("{}", "return x{}") else f"({after})")
        given = parameters(row)
        assert function(wanted, given) in results(line.format(before), given), line


def test_a_gap_takes_any_expression_and_keeps_its_text():
    """Parentheses are added only where the new position needs them."""
    found = results("return torch.cat((a + b, a + b), dim=-1)")
    assert function("return (a + b).repeat_interleave(2, dim=-1)") in found


def test_a_repeated_gap_matches_only_equal_expressions():
    """Two different tensors do not match a gap that the pattern repeats."""
    unlike = function("return a.repeat_interleave(2, dim=-1)")
    assert unlike not in results("return torch.cat((a, b), dim=-1)")


def test_an_empty_argument_list_leaves_no_stray_comma():
    """`$*given` may stand for no arguments at all."""
    assert function("return torch.stack(a).flatten(-2)") in results("return torch.cat(a)")


def test_a_keyword_of_a_pattern_is_not_among_the_further_arguments():
    """`max($x, key=$one, $*given)` matches `max(x, key=one, default=0)`, and no other `key`."""
    slips = Slips([Row("f($x, key=a, $*by)", "g($x, b, $*by)", 1.0, "a call")])
    for written, meant in (("f(x, key=a, by=1)", "g(x, b, by=1)"), ("f(x, key=c, by=1)", None)):
        source = function(f"return {written}")
        made = Programs(source, edits_of(source, slips=slips))
        assert (function(f"return {meant or 'g(x, b, by=1)'}") in made) is (meant is not None)


def test_a_new_gap_is_filled_with_nearby_variables():
    """The factors of a product come first, and a variable is not an ingredient of itself."""
    given = "v: Tensor, q: Tensor, k: Tensor"
    found = results("return q @ k.mT", given)
    assert function("return (q @ k.mT) / k.shape[-1] ** 0.5", given) in found
    assert function("return n // n", "n: int") not in results("return n", "n: int")
