"""Whole statements: kept by no variable, done to one of a kin, with two names exchanged."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP, Draft, Replacement
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.vocabulary import Nature, comes_first, kinship

_MOST = 3


def results(setting: Setting, node: ast.Expr) -> Iterator[Draft]:
    """Yields a value that goes nowhere, given to a variable that it is made of."""
    if isinstance(node.value, (ast.Constant, ast.Await, ast.Yield)):
        return
    span = setting.program.span(node)
    natures = setting.scopes.names(node).natures
    subject = "a value that goes nowhere"
    targets: dict[str, None] = {}
    if isinstance(node.value, ast.Tuple):
        targets[", ".join(_first_argument(one) for one in node.value.elts)] = None
    for one in ast.walk(node.value):
        if isinstance(one, ast.Name) and natures.get(one.id, Nature.OTHER).is_tensor:
            targets[one.id] = None
    own = setting.scopes.names(node).own
    match node.value:
        # Never what a module holds: without it every later trial would fail.
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id=name)) as held)) if (
            name in own
        ):
            targets[setting.program.text(held)] = None
        case _:
            pass
    several: list[str] = []
    if isinstance(node.value, ast.Call) and all(isinstance(o, ast.Name) for o in node.value.args):
        given = [one.id for one in node.value.args if isinstance(one, ast.Name)]
        several = [", ".join(given[:count]) for count in range(min(3, len(given)), 1, -1)]
    for target in [*list(targets)[:_MOST], *several]:
        piece = Replacement(span.start, span.start, f"{target} = ")
        yield Draft("result", SLIP, subject, node, (piece,), span.start)


def _first_argument(node: ast.expr) -> str:
    if isinstance(node, ast.Call) and node.args:
        return ast.unparse(node.args[0])
    return ast.unparse(node)


def assignments(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields `k = f(k)` beside `q = f(q)`, on the same line."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) if node.lineno == node.end_lineno:
            pass
        case _:
            return
    program = setting.program
    word = re.compile(rf"\b{re.escape(name)}\b")
    value = program.text(node.value)
    if not word.search(value) or isinstance(node.value, ast.Name):
        return
    names = setting.scopes.names(node)
    kin = [
        other
        for other in names.natures
        if other != name
        and kinship(name, other) == 2
        and names.first.get(other, 0) > 0
        and names.first[other] < node.lineno
    ]
    following = program.following(node)
    next_text = "" if following is None else program.text(following)
    span = program.span(node)
    for other in kin[:_MOST]:
        again = f"{other} = {word.sub(other, value)}"
        if again != next_text:
            first = comes_first(other, name)
            place, text = (span.start, f"{again}; ") if first else (span.end, f"; {again}")
            piece = Replacement(place, place, text)
            subject = f"what is done to `{name}` alone"
            yield Draft("repeated", CHANGE, subject, node, (piece,), span.start)


def names_exchanged(setting: Setting, node: ast.stmt) -> Iterator[Draft]:
    """Yields two names of a kin that take each other's places in a whole statement."""
    if not isinstance(node, (ast.Assign, ast.Return, ast.AugAssign)) or node.value is None:
        return
    program = setting.program
    names = setting.scopes.names(node)
    loops = set(setting.seen.loops(node))
    places: dict[str, list[ast.Name]] = {}
    for one in program.parts(node.value):
        if isinstance(one, ast.Name):
            places.setdefault(one.id, []).append(one)
    known = list(places)
    for place, first in enumerate(known):
        for second in known[place + 1 :]:
            are_flags = names.natures.get(first) is names.natures.get(second) is Nature.FLAG
            if names.kin(first, second) != 2 and not are_flags and not {first, second} <= loops:
                continue
            pieces = sorted(
                Replacement(span.start, span.end, new)
                for old, new in ((first, second), (second, first))
                for span in map(program.span, places[old])
            )
            if len(pieces) > 1:
                subject = f"where `{first}` and `{second}` are used"
                cost = SLIP if len(pieces) == 2 else CHANGE
                at = pieces[0].start
                yield Draft("names", min(cost, WRAP), subject, node, tuple(pieces), at)
