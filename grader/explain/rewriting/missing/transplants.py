"""Rewrite rules for missing calls that like values in the function get, or of unused layers."""

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
_MOST_CALLS = 100
_LONGEST = 120
_PLACES = (
    *(Position.STORED, Position.GIVEN, Position.NAMED),
    *(Position.ENTRY, Position.FIRST, Position.SECOND),
)
_SUBJECT = "a call that is missing"


def transplanted(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields the calls that like values get: `turn(k, at)` for `k` beside `turn(q, at)`."""
    if not _is_target(setting, node):
        return
    parent, visible = setting.parent(node), setting.scopes.visible(node)
    there = {callee(node), callee(parent), getattr(parent, "attr", "")}
    found: dict[tuple[str, str], float] = {}
    for call, taken in _calls(setting).get(setting.scope(node), ())[:_MOST_CALLS]:
        if taken is node or callee(call) in there or not _are_alike(node, taken):
            continue
        whole, part = setting.span(call), setting.outer_span(taken)
        around = setting.source[whole.start : part.start], setting.source[part.end : whole.end]
        is_short = len("".join(around)) <= _LONGEST and "\n" not in "".join(around)
        if is_short and {*names_in(call)} - {*names_in(taken)} <= visible:
            found.setdefault(around, SLIP + 0.25 if around[0] else CHANGE)
    for (before, after), cost in [*found.items()][:_MOST_TRANSPLANTS]:
        yield wrap(setting, node, before, after, "transplanted", cost, _SUBJECT)


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
    may_be_tensor = nature.is_tensor or nature is Nature.OTHER
    return may_be_tensor and any(place.holds(setting, node) for place in _PLACES)


@functools.lru_cache(maxsize=1)
def _calls(setting: Setting) -> Mapping[Scope, list[tuple[ast.Call, ast.expr]]]:
    """Returns each function's calls that may make a tensor of another one, with that one."""
    found: dict[Scope, list[tuple[ast.Call, ast.expr]]] = defaultdict(list)
    for node in setting.nodes:
        if isinstance(node, ast.Call) and setting.scopes.nature(node).is_tensor:
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name) as taken)):
                    if name == "self" or is_module(taken):
                        taken = next(iter(node.args), taken)
                case ast.Call(func=ast.Attribute(value=taken)) if not is_module(taken):
                    pass
                case ast.Call(args=[taken, *_]):
                    pass
                case _:
                    continue
            found[setting.scope(node)].append((node, taken))
    return found


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
