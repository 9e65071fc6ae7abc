"""What functions ask for by name: one that asks for what nothing reads, an object's own parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.draft import CHANGE, Draft, put
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.declarations import CallSignature
from grader.explain.rewriting.program.setting import Setting, callee

_MOST = 4


def functions(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """`layer.attend(query, key)` for `layer.alone(query)`, where nothing reads `key`."""
    if not isinstance(node.func, (ast.Name, ast.Attribute)) or node.keywords:
        return
    known = setting.seen.variables(node)
    unread = {one.name for one in known if not one.is_read}
    visible = {one.name for one in known}
    if not unread:
        return
    span = setting.program.span(node.func)
    own = callee(node)
    found = [
        (name, asked)
        for name, asked in _asking(setting, isinstance(node.func, ast.Attribute))
        if name != own and set(asked) <= visible and set(asked) & unread
    ]
    found.sort(key=lambda pair: -len(set(pair[1]) & unread))
    for name, asked in found[:_MOST]:
        start = span.end - len(own)
        end = setting.program.span(node).end
        pieces = (Replacement(start, end, f"{name}({', '.join(asked)})"),)
        subject = f"which function `{own}` is"
        yield Draft("function", CHANGE, subject, node, pieces, start)


def parts(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """`Layout(config.heads, config.width)` for `Layout(1, config.size)`, as it asks for them."""
    signature = setting.signature(node)
    if signature is None or node.keywords or not 2 <= len(node.args) <= len(signature.positional):
        return
    asked = [one.name for one in signature.positional[: len(node.args)]]
    holders = dict.fromkeys(
        setting.program.text(one.value)
        for one in node.args
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)
    )
    own = [setting.program.text(one) for one in node.args]
    for holder in holders:
        attr = next(one.attr for one in node.args if isinstance(one, ast.Attribute))
        held = {attr, *setting.signatures.attributes(attr)}
        wanted = [f"{holder}.{name}" for name in asked]
        if set(asked) <= held and wanted != own:
            text = f"{setting.program.text(node.func)}({', '.join(wanted)})"
            subject = f"what `{callee(node)}` is given"
            yield put(setting.program, node, text, "arguments", CHANGE, subject)


def _asking(setting: Setting, is_method: bool) -> Iterator[tuple[str, list[str]]]:
    """Functions, or methods, and the names of what they cannot do without."""
    signatures = setting.signatures
    own: dict[str, CallSignature] = dict(signatures.methods if is_method else signatures.functions)
    for whole, signature in own.items():
        name = whole.rpartition(".")[2]
        asked = [one.name for one in signature.positional if one.default is None]
        if asked and not name.startswith(("run_", "__")):
            yield name, asked
