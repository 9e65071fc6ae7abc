"""Methods that a function does not call, and parameters that it does not read."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.draft import SLIP, Draft
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.setting import Setting, callee
from grader.explain.rewriting.program.value_kinds import Nature

_MOST = 3


def uncalled_methods(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """`layer.load(q, k)` after `layer = Layer(n)`, where nothing else reads `q` and `k`."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value):
            made = _made(value)
        case _:
            return
    own = setting.scopes.names(node)
    scope = setting.program.scope(node)
    if made is None or not isinstance(scope, ast.FunctionDef):
        return
    given = _own_parameters(scope)
    unread = [one for one in given if not own.read.get(one) and own.natures[one] is not Nature.SIZE]
    end = setting.program.span(node).end
    found = (
        method
        for method, signature in setting.signatures.methods_of(made)
        if f".{method}(" not in setting.program.text(scope)
        and len(unread) == sum(one.default is None for one in signature.positional) > 0
    )
    for method in list(found)[:_MOST]:
        text = f"; {name}.{method}({', '.join(unread)})"
        subject = f"`{method}`, which is not called"
        yield Draft("uncalled", SLIP, subject, node, (Replacement(end, end, text),), end)


def chained(setting: Setting, node: ast.Return) -> Iterator[Draft]:
    """`Layer(n).load(q, k)(x)` for `Layer(n)(x)`, where nothing else reads `q` and `k`."""
    match node.value:
        case ast.Call(func=ast.Call() as value):
            made = _made(value)
        case _:
            return
    scope = setting.program.scope(node)
    if made is None or not isinstance(scope, ast.FunctionDef):
        return
    own = setting.scopes.names(node)
    given = _own_parameters(scope)
    read = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    weights = [one for one in given if one not in read and own.natures[one] is not Nature.SIZE]
    end = setting.program.span(value).end
    for method, signature in setting.signatures.methods_of(made):
        if len(weights) == sum(one.default is None for one in signature.positional) > 0:
            text = f".{method}({', '.join(weights)})"
            piece, subject = Replacement(end, end, text), f"`{method}`, which is not called"
            yield Draft("uncalled", SLIP, subject, node, (piece,), end)


def states(setting: Setting, node: ast.Return) -> Iterator[Draft]:
    """`layer.load_state_dict(state)` before a return that calls `layer`; nothing reads `state`."""
    match node.value:
        case ast.Call(func=ast.Name(id=name)) if setting.scopes.names(node).first.get(name):
            pass
        case _:
            return
    own = setting.scopes.names(node)
    start = setting.program.span(node).start
    unread = (one for one in own.own if not own.read.get(one) and 0 < own.first[one] < node.lineno)
    for state in sorted(unread, key=lambda one: -own.first[one])[:_MOST]:
        text = f"{name}.load_state_dict({state}); "
        piece, subject = Replacement(start, start, text), f"`{state}`, which nothing reads"
        yield Draft("uncalled", SLIP, subject, node, (piece,), start)


def _own_parameters(function: ast.FunctionDef) -> list[str]:
    own = function.args
    return [one.arg for one in (*own.posonlyargs, *own.args, *own.kwonlyargs)]


def _made(node: ast.Call) -> str | None:
    """The class of which a call makes an object, whatever is done to that at once."""
    name = callee(node)
    if name[:1].isupper():
        return name
    match node.func:
        case ast.Attribute(value=ast.Call() as inner):
            return _made(inner)
        case _:
            return None
