"""Rewrite rules for operations on one of several like things, and for one object in many places."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.explain.rewriting.edit import (
    CHANGE,
    SLIP,
    WRAP,
    Draft,
    Replacement,
)
from grader.explain.rewriting.program.name_similarity import comes_first, kinship
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.value_kinds import Nature

_MOST = 3


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
