"""Rewrite rules for missing calls, factors and terms that other values in the program have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, UNLIKELY, WRAP, Draft, put, wrap
from grader.explain.rewriting.program.index import Around
from grader.explain.rewriting.program.setting import Setting, is_axis
from grader.explain.rewriting.program.source import LIBRARIES, callee
from grader.explain.rewriting.program.vocabulary import Nature, kinship

_MOST_TRANSPLANTS = 8
_MOST_CALLED = 4
_NOT_VALUES = (Nature.SIZE, Nature.NUMBER, Nature.FLAG, Nature.SHAPE, Nature.FUNCTION)


def transplanted(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields drafts that put the code around one value around another value."""
    if not _is_target(setting, node):
        return
    visible = setting.scopes.visible(node)
    found: list[tuple[float, int, Around]] = []
    for place, one in enumerate(setting.surroundings.near(node)):
        if one.names <= visible and not _is_there(setting, node, one):
            found.append((_cost(setting, node, one), place, one))
    for cost, _, one in sorted(found, key=lambda each: each[:2])[:_MOST_TRANSPLANTS]:
        subject = "a call that is missing" if one.name else "an operation that is missing"
        yield _around(setting, node, one.before, one.after, cost, subject)


def layers(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields calls of layers that the class has and never calls."""
    for name in (
        setting.scopes.idle_layers(node)[:_MOST_CALLED] if _is_target(setting, node) else ()
    ):
        yield _around(setting, node, f"{name}(", ")", CHANGE, "a call that is missing")


def _is_target(setting: Setting, node: ast.expr) -> bool:
    """Returns whether a node is stored, returned, passed or an operand, so code may be missing."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Compare, ast.BoolOp, ast.Lambda, ast.ListComp)):
        return False
    if isinstance(node, ast.Name) and (node.id in LIBRARIES or node.id in ("self", "cls")):
        return False
    if setting.scopes.nature(node) in _NOT_VALUES:
        return False
    home = setting.home(node)
    match home.parent:
        case ast.Assign() | ast.Return() | ast.AugAssign():
            return home.field == "value"
        case ast.Call():
            return home.field == "args"
        case ast.keyword():
            return isinstance(node, (ast.Name, ast.Attribute))
        case ast.Tuple(ctx=ast.Load()) | ast.List(ctx=ast.Load()):
            return not isinstance(setting.parent(home.parent), ast.Subscript)
        case ast.ListComp() | ast.GeneratorExp():
            return home.field == "elt"
        case ast.BinOp(op=ast.MatMult() | ast.Mult()):
            return isinstance(node, ast.Name)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return isinstance(node, (ast.Name, ast.Attribute))
        case ast.Attribute():
            return isinstance(setting.parent(home.parent), ast.Call)
    return False


def _is_there(setting: Setting, node: ast.expr, one: Around) -> bool:
    """Returns whether a node already has the same code around it or in it."""
    if node is one.taken:
        return True
    parent = setting.parent(node)
    own = {callee(node), callee(parent)}
    if isinstance(parent, ast.Attribute):
        own.add(parent.attr)
    if one.name:
        return one.name in own
    return bool(one.after) and setting.text(node).endswith(one.after)


def _cost(setting: Setting, node: ast.expr, one: Around) -> float:
    is_here = one.scope is setting.scope(node)
    if _are_alike(node, one.taken):
        cost = SLIP + 0.25 if is_here else CHANGE
    else:
        cost = WRAP if is_here else WRAP + 0.5
    is_method = not one.before and bool(one.name)
    return min(cost + (0.25 if is_method or not one.name else 0.0), UNLIKELY)


def _are_alike(node: ast.expr, other: ast.expr) -> bool:
    """Returns whether two values play the same role, like `q` and `k`."""
    if isinstance(node, ast.Call) and isinstance(other, ast.Call):
        return bool(callee(node)) and callee(node) == callee(other)
    if isinstance(node, ast.Name) and isinstance(other, ast.Name):
        return node.id == other.id or kinship(node.id, other.id) == 2
    if isinstance(node, ast.Attribute) and isinstance(other, ast.Attribute):
        return ast.unparse(node.value) == ast.unparse(other.value) == "self"
    return False


def _around(
    setting: Setting, node: ast.expr, before: str, after: str, cost: float, subject: str
) -> Draft:
    return wrap(setting, node, before, after, "transplanted", cost, subject)


# The text before, the text after, and whether it is a constant factor.
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
    """Yields signs, small terms and factors around numbers and tensors in arithmetic."""
    if not _is_value(setting, node) or is_axis(setting, node):
        return
    nature, parent = setting.scopes.nature(node), setting.parent(node)
    if nature is Nature.FLAG and isinstance(parent, ast.BinOp):
        yield wrap(setting, node, "3 * ", "", "factor", WRAP, "a factor")
    if isinstance(parent, ast.UnaryOp) or not (nature.is_number or nature is Nature.TENSOR):
        return
    scaled = _is_scaling(parent)
    is_operand = isinstance(parent, ast.BinOp) and not isinstance(parent.op, ast.MatMult)
    if isinstance(parent, ast.BinOp) and not is_operand:
        return
    if nature is Nature.TENSOR and not (is_operand or _in_arithmetic(setting, node)):
        return
    if scaled and _is_scaling(node):
        return
    is_exponent = (
        isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow) and node is parent.right
    )
    is_count = nature is Nature.SIZE and not is_operand
    # A product that is itself a factor has the sign of the whole product.
    if not (is_count or (scaled and _is_scaling(setting.parent(parent)))):
        cost = SLIP if is_exponent else CHANGE
        yield wrap(setting, node, "-", "", "sign", cost, "a sign that is missing")
    subject = "a factor or a term"
    for before, after, multiplies in _FACTORS:
        of_this = "a power or a root" if "**" in after else subject
        if not ((multiplies and scaled) or (is_count and (before, after) not in _OF_COUNTS)):
            if nature is Nature.NUMBER and before == "1 / " and not is_operand:
                yield wrap(setting, node, before, after, "factor", SLIP + 0.25, subject)
                continue
            likely = before == "1 - " and nature is Nature.NUMBER
            # A rate that is passed on is seldom wrong: the called function computes `1 - rate`.
            likely_cost = CHANGE + 0.35 if isinstance(parent, ast.Call) else CHANGE
            cost = likely_cost if likely else _RARE if (before, after) in _RARELY else WRAP
            yield wrap(setting, node, before, after, "factor", cost, of_this)
    if is_operand and isinstance(node, ast.Name):
        match parent:
            case ast.BinOp(left=ast.Constant(value=2), op=ast.Mult()):
                factor, cost = "", CHANGE
            case _:
                factor, cost = "2 * ", WRAP
        yield put(setting, node, f"{factor}({node.id} // 2)", "factor", cost, subject)


def _is_scaling(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div))


def _in_arithmetic(setting: Setting, node: ast.expr) -> bool:
    """Returns whether an expression is an operation, or an argument of a function like `exp`."""
    if isinstance(node, ast.BinOp):
        return not isinstance(node.op, ast.MatMult)
    parent = setting.parent(node)
    if isinstance(parent, (ast.Tuple, ast.List)):
        return isinstance(setting.parent(parent), ast.Call)
    return isinstance(parent, ast.Call) and callee(parent) in ("exp", "sin", "cos", "sqrt", "pow")


def _is_value(setting: Setting, node: ast.expr) -> bool:
    """Returns whether an expression is read where an operator can stand before it."""
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    parent = setting.parent(node)
    if isinstance(parent, ast.Attribute):
        return False
    if isinstance(parent, ast.Call) and node is parent.func:
        return False
    return not (isinstance(parent, ast.Subscript) and node is parent.value)
