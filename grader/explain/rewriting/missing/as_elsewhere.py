"""What the same thing has around it at other places of a program."""

from __future__ import annotations

import ast
import functools
from collections import defaultdict
from collections.abc import Iterator

from grader.explain.rewriting.draft import CHANGE, Draft, wrap
from grader.explain.rewriting.program.setting import Setting, callee

_MOST_PLACES = 3


def indices(setting: Setting, node: ast.Name | ast.Attribute) -> Iterator[Draft]:
    """`self.mask[:n, :n]` for `self.mask`, as it is cut elsewhere."""
    parent = setting.parent(node)
    is_base = isinstance(parent, (ast.Subscript, ast.Attribute)) and parent.value is node
    is_called = isinstance(parent, ast.Call) and parent.func is node
    if is_base or is_called or not isinstance(node.ctx, ast.Load):
        return
    own = setting.program.text(node)
    visible = setting.seen.visible(node)
    for index, names in list(_indices(setting.program.tree).get(own, {}).items())[:_MOST_PLACES]:
        if names <= visible:
            subject = f"an index of `{own}`"
            alike = ("as elsewhere", own)
            yield wrap(setting.program, node, "", f"[{index}]", "index", CHANGE, subject, alike)


def projections(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """`return self.project(x)` for `return x`, as another method returns."""
    if not isinstance(setting.parent(node), ast.Return):
        return
    returned = _returned(setting.program.tree)
    around = setting.program.text(setting.program.scope(node)) if returned else ""
    for called in returned:
        if f"{called}(" not in around:
            subject = "a projection that is missing"
            before = f"{called}("
            yield wrap(setting.program, node, before, ")", "projection", CHANGE, subject)


def methods(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """`return weights.out(x)` for `return x`, where `weights` has a method that nobody calls."""
    if not isinstance(setting.parent(node), ast.Return) or not isinstance(node, ast.Name):
        return
    scope, signatures = setting.program.scope(node), setting.signatures
    for (around, holder), used in setting.seen.attributes.items():
        if around is not scope or not holder.isidentifier():
            continue
        for name in signatures.classes:
            own = dict(signatures.methods_of(name))
            if not own.keys() & set(used):
                continue
            for method, signature in own.items():
                if len(signature.positional) == 1 and not setting.seen.calls(method):
                    subject = f"`{method}`, which is never used"
                    before = f"{holder}.{method}("
                    yield wrap(setting.program, node, before, ")", "projection", CHANGE, subject)


@functools.lru_cache(maxsize=8)
def _indices(tree: ast.Module) -> dict[str, dict[str, frozenset[str]]]:
    """By what is cut, the slices by which it is, and the names in them."""
    found: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(
                value=ast.Name() | ast.Attribute() as held, slice=index, ctx=ast.Load()
            ):
                parts = list(ast.walk(index))
                if any(isinstance(one, ast.Slice) for one in parts):
                    names = frozenset(one.id for one in parts if isinstance(one, ast.Name))
                    text = ast.unparse(index).removeprefix("(").removesuffix(")")
                    found[ast.unparse(held)][text] = names
            case _:
                pass
    return found


@functools.lru_cache(maxsize=8)
def _returned(tree: ast.Module) -> list[str]:
    """The layers of which methods return what they give for one value."""
    found = [
        ast.unparse(node.value.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Return)
        and isinstance(node.value, ast.Call)
        and len(node.value.args) == 1
        and not node.value.keywords
        and callee(node.value)
    ]
    return [one for one in dict.fromkeys(found) if one.startswith("self.")][:_MOST_PLACES]
