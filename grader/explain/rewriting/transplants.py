"""Rewrite rules for missing code: calls of like values, as `q` and `k` are, and idle functions."""

from __future__ import annotations

import ast
import functools
import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from grader.explain.rewriting.edit import CHANGE, SLIP, Draft, put, wrap
from grader.explain.rewriting.ingredients import unused
from grader.explain.rewriting.positions import Position
from grader.explain.rewriting.program.setting import Setting, is_module
from grader.explain.rewriting.program.source import Function, Scope, callee, names_in
from grader.explain.rewriting.program.vocabulary import Nature, kinship

_MOST_TRANSPLANTS = 8
_MOST_CALLED = 4
_MOST_LIKE = 2
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
    own = setting.scope(node)
    others = [one for one in _methods_beside(setting, own) if one is not own]
    operations = (pair for one in (own, *others) for pair in _operations(setting).get(one, ()))
    for other, taken in itertools.islice(operations, _MOST_OPERATIONS):
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


def like_indices(setting: Setting, node: ast.Subscript) -> Iterator[Draft]:
    """Yields the index that a like statement has in its place: `sin[at]` beside `cos[:n]`."""
    own, visible = setting.text(node.slice), setting.scopes.visible(node)
    texts = dict.fromkeys(
        setting.text(one.slice)
        for one in _subscripts(setting).get(setting.role(node), ())
        if {*names_in(one.slice)} <= visible
    )
    for text in [one for one in texts if one != own and "\n" not in one][:_MOST_LIKE]:
        subject = f"an index of `{setting.text(node.value)}`"
        yield put(setting, node.slice, text, "transplanted", CHANGE, subject)


@functools.lru_cache(maxsize=1)
def _subscripts(setting: Setting) -> Mapping[str, list[ast.Subscript]]:
    """Returns the subscripts in like places of like statements."""
    found: dict[str, list[ast.Subscript]] = defaultdict(list)
    for node in setting.nodes:
        if isinstance(node, ast.Subscript):
            found[setting.role(node)].append(node)
    return found


def idle_calls(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields calls of layers and functions that the program has and never calls."""
    if not _is_target(setting, node):
        return
    one, two = (setting.index.idle(node, count) for count in (1, 2))
    calls = [(name, "") for name in (*setting.scopes.idle_layers(node), *one)]
    calls += [(name, f", {other}") for name in two for other, _ in unused(setting, node)]
    for name, other in calls[:_MOST_CALLED]:
        yield wrap(setting, node, f"{name}(", f"{other})", "transplanted", CHANGE, _SUBJECT)


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


def _methods_beside(setting: Setting, scope: Scope) -> Sequence[Scope]:
    """Returns the methods of the class around a function."""
    around = setting.class_around(scope)
    return [one for one in around.body if isinstance(one, Function)] if around else []


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
