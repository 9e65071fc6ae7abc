"""Rewrite rules for statements: repeated for another variable, with two names exchanged."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, Draft, Replacement
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
