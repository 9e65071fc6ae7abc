"""Rewrite rules for missing calls, factors and terms that other values in the program have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, UNLIKELY, WRAP, Draft, wrap
from grader.explain.rewriting.program.index import Around
from grader.explain.rewriting.program.setting import Setting
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
