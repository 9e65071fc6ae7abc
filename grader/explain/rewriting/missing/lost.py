"""Values that get lost: sums that start anew in a loop, overwritten names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, Draft, Replacement
from grader.explain.rewriting.program.name_similarity import kin_of, kinship
from grader.explain.rewriting.program.setting import Setting

_MOST = 3


def renamed(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields another name of a kin throughout a statement: `k = turn(k)` for `v = turn(v)`."""
    program = setting.program
    targets = {
        one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)
    }
    text = program.text(node)
    span = program.span(node)
    if "\n" in text:
        return
    names = setting.scopes.names(node)
    for name in sorted(targets):
        uses = len(re.findall(rf"\b{name}\b", text))
        others = [
            one
            for one in names.natures
            if kinship(name, one) == 2 and one != name and one not in targets
        ]
        for other in others[:_MOST] if uses > 1 else ():
            new = re.sub(rf"(?<!\.)\b{name}\b", other, text)
            piece = Replacement(span.start, span.end, new)
            subject = f"where `{name}` is used"
            yield Draft("name", CHANGE, subject, node, (piece,), span.start)


def attributes(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields `self.v = ...` for the second `self.k = ...` of a function that sets no `self.v`."""
    scope = setting.program.scope(node)
    match node.targets:
        case [ast.Attribute(value=ast.Name(id=holder), attr=attr) as target]:
            pass
        case _:
            return
    if isinstance(scope, (ast.Module, ast.ClassDef)):
        return
    stored = [
        one.attr
        for one in ast.walk(scope)
        if isinstance(one, ast.Attribute)
        and isinstance(one.ctx, ast.Store)
        and isinstance(one.value, ast.Name)
        and one.value.id == holder
    ]
    read = _read_of(setting.parent(scope), holder) if stored.count(attr) > 1 else []
    others = [
        one
        for one in dict.fromkeys((*setting.signatures.attributes(attr), *read))
        if setting.seen.uses(one)
    ]
    others = [one for one in dict.fromkeys((*others, *kin_of(attr))) if one not in stored]
    others.sort(key=lambda one: -kinship(attr, one))
    end = setting.program.span(target).end
    for other in others[:_MOST] if stored.count(attr) > 1 else ():
        piece = Replacement(end - len(attr), end, other)
        subject = f"where `{holder}.{attr}` is set"
        yield Draft("name", SLIP, subject, node, (piece,), end - len(attr))


def _read_of(around: ast.AST, holder: str) -> list[str]:
    """Returns the attributes that code reads from an object and never sets."""
    found: dict[type, list[str]] = {ast.Load: [], ast.Store: []}
    for one in ast.walk(around):
        match one:
            case ast.Attribute(value=ast.Name(id=name), attr=attr, ctx=context) if name == holder:
                found.setdefault(type(context), []).append(attr)
            case ast.FunctionDef(name=name):
                found[ast.Store].append(name)
            case _:
                pass
    return [one for one in found[ast.Load] if one not in found[ast.Store]]
