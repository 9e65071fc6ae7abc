"""Rewrite rules for statements: repeated for another variable, with two names exchanged."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP, Draft, Replacement
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.vocabulary import Nature, in_use, kinship

_MOST = 3


def results(setting: Setting, node: ast.Expr) -> Iterator[Draft]:
    """Yields a discarded value, assigned to a tensor that it is computed from."""
    if not isinstance(node.value, ast.Call):
        return
    start, names = setting.span(node).start, setting.scopes.names(node)
    used = dict.fromkeys(one.id for one in ast.walk(node.value) if isinstance(one, ast.Name))
    tensors = [name for name in used if (names.nature(name) or Nature.OTHER).is_tensor]
    for target in tensors[:_MOST]:
        piece = Replacement(start, start, f"{target} = ")
        yield Draft("result", SLIP, "a result that is never used", node, (piece,), start)


def assignments(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields `q = f(q); k = f(k)` for `q = f(q)`."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) if node.lineno == node.end_lineno:
            pass
        case _:
            return
    word = re.compile(rf"\b{re.escape(name)}\b")
    value = setting.text(node.value)
    if not word.search(value) or isinstance(node.value, ast.Name):
        return
    set_before = setting.scopes.names(node).before(node.lineno)
    known = [one.name for one in set_before if one.first > 0 and one.name != name]
    kin = [other for other in known if kinship(name, other) == 2]
    span = setting.span(node)
    for other in kin[:_MOST]:
        again = f"{other} = {word.sub(other, value)}"
        if again not in setting.source:
            is_first = in_use().disorder((name, other)) > 0
            place, text = (span.start, f"{again}; ") if is_first else (span.end, f"; {again}")
            piece = Replacement(place, place, text)
            subject = f"whether `{other}` needs the same as `{name}`"
            yield Draft("repeated", CHANGE, subject, node, (piece,), span.start)


def names_exchanged(setting: Setting, node: ast.stmt) -> Iterator[Draft]:
    """Yields two related names swapped in a whole statement."""
    if not isinstance(node, (ast.Assign, ast.Return, ast.AugAssign)) or node.value is None:
        return
    names = setting.scopes.names(node)
    loops = set(setting.scopes.loops(node))
    places: dict[str, list[ast.expr]] = {}
    for one in setting.parts(node.value):
        match one:
            case ast.Name() | ast.Attribute(value=ast.Name(id="self")):
                places.setdefault(setting.text(one), []).append(one)
    known, uses = list(places), {name: _uses(setting, own) for name, own in places.items()}
    for place, first in enumerate(known):
        for second in known[place + 1 :]:
            are_flags = names.nature(first) is names.nature(second) is Nature.FLAG
            are_like = names.kin(first, second) == 2 or are_flags or {first, second} <= loops
            if not are_like and uses[first].isdisjoint(uses[second]):
                continue
            pieces = sorted(
                Replacement(span.start, span.end, new)
                for old, new in ((first, second), (second, first))
                for span in map(setting.span, places[old])
            )
            if len(pieces) > 1:
                subject = f"the use of `{first}` and `{second}`"
                cost = SLIP if len(pieces) == 2 else CHANGE
                at = pieces[0].start
                yield Draft("names", min(cost, WRAP), subject, node, tuple(pieces), at)


def _uses(setting: Setting, nodes: Iterable[ast.expr]) -> set[tuple[str, int]]:
    """Returns the functions that get values of a name, each with the place of the argument."""
    calls = [(node, call) for node in nodes if isinstance(call := setting.parent(node), ast.Call)]
    return {(setting.text(of.func), of.args.index(one)) for one, of in calls if one in of.args}
