"""Rewrite rules for signs, factors and small terms around values."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP, Draft, put, wrap
from grader.explain.rewriting.program.setting import (
    Setting,
    callee,
    is_axis,
)
from grader.explain.rewriting.program.vocabulary import Nature

# The text before, the text after, and whether the factor only scales.
_FACTORS = (
    ("2 * ", "", True),
    ("", " / 2", True),
    ("3 * ", "", True),
    ("1 / ", "", False),
    ("1 - ", "", False),
    ("", " ** 0.5", False),
    ("", " ** 2", False),
    ("", " + 1", False),
    ("", " - 1", False),
)
_OF_COUNTS = (("", " ** 0.5"), ("3 * ", ""))
_RARELY = (("", " ** 2"), ("1 / ", ""))
_RARE = 2.5


def factors(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields signs, small terms and factors around numbers, and around tensors in arithmetic."""
    if not _is_value(setting, node) or is_axis(setting, node):
        return
    nature, parent = setting.scopes.nature(node), setting.parent(node)
    if nature is Nature.FLAG and isinstance(parent, ast.BinOp):
        yield _with_factor(setting, node, "3 * ", "", "factor", WRAP, "a factor")
    if isinstance(parent, ast.UnaryOp) or not (nature.is_number or nature is Nature.TENSOR):
        return
    scaled = isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Mult, ast.Div))
    is_operand = isinstance(parent, ast.BinOp) and not isinstance(parent.op, ast.MatMult)
    if isinstance(parent, ast.BinOp) and not is_operand:
        return
    if nature is Nature.TENSOR and not (is_operand or _in_arithmetic(setting, node)):
        return
    if scaled and isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        return
    is_exponent = (
        isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow) and node is parent.right
    )
    is_count = nature is Nature.SIZE and not is_operand
    if not (is_count or (scaled and _is_scaled_above(setting, parent))):
        cost = SLIP if is_exponent else CHANGE
        yield _with_factor(setting, node, "-", "", "sign", cost, "a sign")
    subject = "a factor or a term"
    for before, after, multiplies in _FACTORS:
        if not ((multiplies and scaled) or (is_count and (before, after) not in _OF_COUNTS)):
            if nature is Nature.NUMBER and before == "1 / " and not is_operand:
                yield _with_factor(setting, node, before, after, "factor", SLIP + 0.25, subject)
                continue
            likely = before == "1 - " and nature is Nature.NUMBER
            # A rate that is handed over is meant as it is: its user takes the other share.
            likely_cost = CHANGE + 0.35 if isinstance(parent, ast.Call) else CHANGE
            cost = likely_cost if likely else _RARE if (before, after) in _RARELY else WRAP
            yield _with_factor(setting, node, before, after, "factor", cost, subject)
    if is_operand and isinstance(node, ast.Name):
        factor, cost = ("", CHANGE) if _is_doubled(parent) else ("2 * ", WRAP)
        yield put(setting.program, node, f"{factor}({node.id} // 2)", "factor", cost, subject)


def _is_doubled(product: ast.AST) -> bool:
    match product:
        case ast.BinOp(left=ast.Constant(value=2), op=ast.Mult()):
            return True
        case _:
            return False


def _is_scaled_above(setting: Setting, node: ast.AST) -> bool:
    """Returns whether a product is itself a factor, so that its sign is that of the whole."""
    above = setting.parent(node)
    return isinstance(above, ast.BinOp) and isinstance(above.op, (ast.Mult, ast.Div))


def _in_arithmetic(setting: Setting, node: ast.expr) -> bool:
    """Returns whether an expression is a whole operation, or an argument of a function."""
    if isinstance(node, ast.BinOp):
        return not isinstance(node.op, ast.MatMult)
    parent = setting.parent(node)
    if isinstance(parent, (ast.Tuple, ast.List)):
        return isinstance(setting.parent(parent), ast.Call)
    return isinstance(parent, ast.Call) and callee(parent) in ("exp", "sin", "cos", "sqrt", "pow")


def _with_factor(
    setting: Setting,
    node: ast.expr,
    before: str,
    after: str,
    kind: str,
    cost: float,
    subject: str,
) -> Draft:
    alike = (type(node).__name__, callee(node), setting.program.text(node)[:12])
    loose = before.endswith("(")
    return wrap(setting.program, node, before, after, kind, cost, subject, alike, loose=loose)


def _is_value(setting: Setting, node: ast.expr) -> bool:
    """Returns whether an expression is read at a place where an operator may stand before it."""
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    parent = setting.parent(node)
    if isinstance(parent, ast.Attribute):
        return False
    if isinstance(parent, ast.Call) and node is parent.func:
        return False
    return not (isinstance(parent, ast.Subscript) and node is parent.value)
