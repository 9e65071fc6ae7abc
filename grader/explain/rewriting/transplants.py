"""Rewrite rules for missing code: calls of like values, as `q` and `k` are, and layers."""

from __future__ import annotations

import ast
import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping

from grader.explain.rewriting.edit import CHANGE, SLIP, Draft, wrap
from grader.explain.rewriting.positions import Position
from grader.explain.rewriting.program.setting import Setting, is_module
from grader.explain.rewriting.program.source import Scope, callee, names_in
from grader.explain.rewriting.program.vocabulary import Nature, kinship

_MOST_TRANSPLANTS = 8
_MOST_CALLED = 4
# Bounds the work for a function that is written to be expensive.
_MOST_OPERATIONS = 100
_LONGEST = 120
_PLACES = (
    *(Position.STORED, Position.GIVEN, Position.NAMED),
    *(Position.ENTRY, Position.OPERAND, Position.FIRST, Position.SECOND),
)
_SUBJECT = "a call that is missing"


def transplanted(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a value wrapped as a like value is elsewhere: `turn(k, at)`, beside `turn(q, at)`."""
    if not _is_target(setting, node):
        return
    parent, visible = setting.parent(node), setting.scopes.visible(node)
    there = {callee(node), callee(parent), getattr(parent, "attr", "")} - {""}
    found: dict[tuple[str, str], float] = {}
    for other, taken in _operations(setting).get(setting.scope(node), ())[:_MOST_OPERATIONS]:
        if taken is node or callee(other) in there or not _are_alike(node, taken):
            continue
        whole, part = setting.span(other), setting.outer_span(taken)
        around = setting.source[whole.start : part.start], setting.source[part.end : whole.end]
        is_short = len("".join(around)) <= _LONGEST and "\n" not in "".join(around)
        if is_short and {*names_in(other)} - {*names_in(taken)} <= visible:
            is_function = isinstance(other, ast.Call) and around[0]
            found.setdefault(around, SLIP + 0.25 if is_function else CHANGE)
    for (before, after), cost in [*found.items()][:_MOST_TRANSPLANTS]:
        subject = _SUBJECT if after.endswith(")") else "an operation that is missing"
        yield wrap(setting, node, before, after, "transplanted", cost, subject)


def layers(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields calls of layers that the class has and never calls."""
    idle = setting.scopes.idle_layers(node) if _is_target(setting, node) else []
    for name in idle[:_MOST_CALLED]:
        yield wrap(setting, node, f"{name}(", ")", "transplanted", CHANGE, _SUBJECT)


def _is_target(setting: Setting, node: ast.expr) -> bool:
    """Returns whether a node may be a tensor around which code is missing."""
    nature = setting.scopes.nature(node)
    if isinstance(node, (ast.Tuple, ast.List, ast.Lambda, ast.ListComp)) or is_module(node):
        return False
    home, may_be_tensor = setting.home(node), nature.is_tensor or nature is Nature.OTHER
    has_method = isinstance(home.parent, ast.Attribute) and home.field == "value"
    return may_be_tensor and (has_method or any(one.holds(setting, node) for one in _PLACES))


@functools.lru_cache(maxsize=1)
def _operations(setting: Setting) -> Mapping[Scope, list[tuple[ast.expr, ast.expr]]]:
    """Returns, by function, calls and products that may give a tensor, each with one operand."""
    found: dict[Scope, list[tuple[ast.expr, ast.expr]]] = defaultdict(list)
    for node in setting.nodes:
        # Nothing uses the result of a call that is a statement by itself.
        if isinstance(node, ast.Call | ast.BinOp) and not isinstance(
            setting.parent(node), ast.Expr
        ):
            taken = _taken(setting, node) if setting.scopes.nature(node).is_tensor else []
            found[setting.scope(node)] += [(node, one) for one in taken]
    return found


def _taken(setting: Setting, node: ast.Call | ast.BinOp) -> list[ast.expr]:
    """Returns the values that a call or a product is applied to."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return [left, right]
        case ast.Call(func=ast.Attribute(value=of)) if not is_module(of):
            return node.args[:1] if setting.text(of) == "self" else [of]
        case ast.Call():
            return node.args[:1]
    return []


def _are_alike(node: ast.expr, other: ast.expr) -> bool:
    """Returns whether two values play the same role, like `q` and `k`."""
    match node, other:
        case ast.Call(), ast.Call():
            return bool(callee(node)) and callee(node) == callee(other)
        case ast.Name(id=one), ast.Name(id=another):
            return one == another or kinship(one, another) == 2
        case ast.Attribute(value=ast.Name(id="self")), ast.Attribute(value=ast.Name(id="self")):
            return True
    return False
