"""Rewrite rules for operators, comparisons, conditions and parentheses."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import replace

from grader.explain.rewriting.edit import (
    BRANCH,
    CHANGE,
    SLIP,
    WRAP,
    Draft,
    Replacement,
    exchange,
    keep,
    put,
    wrap,
)
from grader.explain.rewriting.program.setting import Setting, integer
from grader.explain.rewriting.program.vocabulary import Nature

# By operator: the operators that may be meant instead, each with the cost of the edit.
_ALTERNATIVES: dict[str, dict[str, float]] = {
    "+": {"-": SLIP, "*": CHANGE, "/": WRAP},
    "-": {"+": SLIP, "*": CHANGE, "/": WRAP},
    "*": {"/": SLIP, "+": CHANGE, "**": CHANGE, "-": WRAP, "//": WRAP, "@": WRAP},
    "/": {"*": SLIP, "//": SLIP, "-": CHANGE, "**": WRAP, "+": WRAP, "%": WRAP},
    "//": {"/": CHANGE, "*": SLIP, "%": SLIP, "-": WRAP},
    "%": {"//": SLIP, "/": CHANGE},
    "**": {"*": SLIP, "/": CHANGE},
    "@": {"*": CHANGE},
    "&": {"|": SLIP},
    "|": {"&": SLIP},
    "<": {"<=": SLIP, ">": SLIP, ">=": SLIP, "==": WRAP, "!=": WRAP},
    "<=": {"<": SLIP, ">": SLIP, ">=": SLIP, "==": WRAP},
    ">": {">=": SLIP, "<": SLIP, "<=": SLIP, "==": WRAP, "!=": WRAP},
    ">=": {">": SLIP, "<": SLIP, "<=": SLIP, "==": WRAP},
    "==": {"!=": SLIP, "<=": WRAP, ">=": WRAP, "<": WRAP, ">": WRAP},
    "!=": {"==": SLIP, "<": WRAP, ">": WRAP, "<=": WRAP, ">=": WRAP},
    "is": {"is not": SLIP},
    "is not": {"is": SLIP},
    "in": {"not in": SLIP},
    "not in": {"in": SLIP},
}


def _operator_of(symbol: str) -> type[ast.AST]:
    tree = ast.parse(f"x {symbol} y", mode="eval").body
    return type(tree.ops[0] if isinstance(tree, ast.Compare) else vars(tree)["op"])


_SYMBOLS = {_operator_of(symbol): symbol for symbol in _ALTERNATIVES}
_NOT_COMMUTATIVE = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)
_TERMS = (ast.Add, ast.Sub)


def operations(setting: Setting, node: ast.BinOp) -> Iterator[Draft]:
    """Yields another operator, swapped or dropped operands, or moved parentheses."""
    symbol = _SYMBOLS.get(type(node.op))
    match node.left:
        case ast.JoinedStr() | ast.Constant(value=str()):
            return  # text that is formatted or joined
    if symbol is None:
        return
    subject = "the sign of a term" if isinstance(node.op, _TERMS) else "an operator"
    for other, cost in _ALTERNATIVES[symbol].items():
        yield _operator(setting, node, node.left, node.right, other, symbol, cost, subject)
    is_mask = setting.scopes.nature(node) is Nature.MASK
    is_union = isinstance(node.op, ast.BitOr) and not is_mask
    if isinstance(node.op, _NOT_COMMUTATIVE) or is_union:
        parts = (node.left, node.right)
        subject = f"the order of the operands of `{symbol}`"
        # Swapping `n // 2` gives `2 // n`, which is hardly ever meant.
        is_share = isinstance(node.op, (ast.FloorDiv, ast.Mod)) and integer(node.right) is not None
        cost = WRAP if is_share else SLIP
        yield exchange(setting, node, parts, (1, 0), "operands", cost, subject)
    part = "term" if isinstance(node.op, _TERMS) else "factor"
    for kept in (node.left, node.right):
        subject = f"a {part} that may not belong there"
        yield keep(setting, node, kept, f"{part}-dropped", CHANGE, subject)
    if isinstance(node.left, ast.BinOp) and type(node.left.op) in (ast.Mult, ast.Div):
        subject = "factors that may not belong there"
        yield keep(setting, node, node.left.left, "factor-dropped", WRAP, subject)
    yield from _regrouped(setting, node)


def comparisons(setting: Setting, node: ast.Compare) -> Iterator[Draft]:
    """Yields another comparison."""
    left = node.left
    for op, right in zip(node.ops, node.comparators, strict=True):
        symbol = _SYMBOLS[type(op)]
        for other, cost in _ALTERNATIVES[symbol].items():
            draft = _operator(setting, node, left, right, other, symbol, cost, "a comparison")
            yield replace(draft, kind="comparison")
        left = right


def logic(setting: Setting, node: ast.BoolOp) -> Iterator[Draft]:
    """Yields `or` for `and`, `and` for `or`, and dropped conditions."""
    symbol, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in itertools.pairwise(node.values):
        yield _operator(setting, node, left, right, other, symbol, SLIP, "joined conditions")
    if len(node.values) == 2:
        for kept in node.values:
            subject = "a condition that may not belong there"
            yield keep(setting, node, kept, "condition-dropped", CHANGE, subject)


def signs(setting: Setting, node: ast.UnaryOp) -> Iterator[Draft]:
    """Yields an expression without its sign or negation."""
    if isinstance(node.op, ast.UAdd) or isinstance(node.operand, ast.Constant):
        return
    subject = "a sign" if isinstance(node.op, ast.USub) else "a negation"
    kind = "sign-dropped" if isinstance(node.op, ast.USub) else "negation-dropped"
    yield keep(setting, node, node.operand, kind, SLIP, subject)


def choices(setting: Setting, node: ast.IfExp) -> Iterator[Draft]:
    """Yields swapped branches of a conditional expression, only one of them, or a negated test."""
    subject = "which value is used when the condition holds"
    yield exchange(setting, node, (node.body, node.orelse), (1, 0), "branches", SLIP, subject)
    for kept in (node.body, node.orelse):
        yield keep(setting, node, kept, "condition-dropped", CHANGE, "a condition")
    yield wrap(setting, node.test, "not ", "", "condition", SLIP, "a condition")


def conditions(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a negated or constant condition of an `if` or a `while`, or a check for None."""
    home = setting.home(node)
    if home.field != "test" or not isinstance(home.parent, (ast.If, ast.While)):
        return
    if not isinstance(node, ast.Compare) and not (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    ):
        yield wrap(setting, node, "not ", "", "condition", SLIP, BRANCH)
    if isinstance(home.parent, ast.If):
        for text in ("True", "False"):
            yield put(setting, node, text, "condition-dropped", CHANGE, BRANCH)
    if isinstance(node, ast.Name):
        for text in (f"{node.id} is not None", f"{node.id} is None"):
            yield put(setting, node, text, "condition", CHANGE, BRANCH)


def _operator(
    setting: Setting,
    node: ast.AST,
    left: ast.AST,
    right: ast.AST,
    other: str,
    symbol: str,
    cost: float,
    subject: str,
) -> Draft:
    first, end = setting.outer_span(left).end, setting.outer_span(right).start
    start = setting.source.find(symbol, first, end)
    pieces = (Replacement(start, start + len(symbol), other),) if start >= 0 else ()
    return Draft("operator", cost, subject, node, pieces, max(start, first))


def _regrouped(setting: Setting, node: ast.BinOp) -> Iterator[Draft]:
    """Yields removed or added parentheses: `a * (b + c)` and `a * b + c` become each other."""
    for inner, leaf in ((node.left, node.right), (node.right, node.left)):
        if not isinstance(inner, ast.BinOp):
            continue
        outer_span, inner_span = setting.outer_span(inner), setting.span(inner)
        subject = "whether parentheses are missing"
        if outer_span != inner_span:
            subject = "whether parentheses stand in the wrong place"
            pieces = (
                Replacement(outer_span.start, inner_span.start, ""),
                Replacement(inner_span.end, outer_span.end, ""),
            )
        else:
            near = inner.right if inner is node.left else inner.left
            start = min(setting.outer_span(near).start, setting.outer_span(leaf).start)
            end = max(setting.outer_span(near).end, setting.outer_span(leaf).end)
            pieces = (Replacement(start, start, "("), Replacement(end, end, ")"))
        yield Draft("groups", CHANGE, subject, node, pieces, pieces[0].start)
