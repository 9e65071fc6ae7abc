"""Rewrite rules for statements: repeated for another variable, with two names exchanged."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, Draft, Replacement
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.variables import Names
from grader.explain.rewriting.program.vocabulary import in_use, kinship

_MOST = 3


def results(setting: Setting, node: ast.Expr | ast.Assign) -> Iterator[Draft]:
    """Yields a value that nothing reads, assigned to variables that are read.

    These are the tensors that it is computed from, and variables of the nature of its own.
    """
    start, names = setting.span(node).start, setting.scopes.names(node)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Attribute):
        end = setting.span(node).end
        piece = Replacement(end, end, "()")
        yield Draft("called", SLIP, "a function that is not called", node, (piece,), start)
        return
    read = [one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)]
    tensors = [name for name in dict.fromkeys(read) if _is_tensor(names, name)]
    targets, end = tensors[:_MOST], start
    match node:
        case ast.Assign(targets=[ast.Name(id=own)]) if own in names and not names[own].reads:
            end = setting.outer_span(node.value).start
            before = [one for one in names.before(node.lineno) if one.is_own and one.reads]
            targets += [one.name for one in before if one.nature is names[own].nature][-_MOST:]
        case ast.Assign():
            return
        case _ if 1 < len(tensors) <= _MOST:
            targets.append(", ".join(tensors))
    for target in dict.fromkeys(targets):
        piece = Replacement(start, end, f"{target} = ")
        yield Draft("result", SLIP, "a result that is never used", node, (piece,), start)


def _is_tensor(names: Names, name: str) -> bool:
    nature = names.nature(name)
    return nature is not None and nature.is_tensor


def assignments(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields `q = f(q); k = f(k)`, and `k = f(k)` alone, for `q = f(q)`."""
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
            piece = Replacement(span.start, span.end, again)
            subject = f"whether `{other}` needs it in the place of `{name}`"
            yield Draft("repeated", CHANGE, subject, node, (piece,), span.start)
