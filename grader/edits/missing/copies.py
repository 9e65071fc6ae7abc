"""One object in several places, where each was to have its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.edits.draft import CHANGE, SLIP, Draft, put, wrap
from grader.edits.reading.setting import Setting

_SUBJECT = "that there is only one of what stands in a list"


def repeated(setting: Setting, node: ast.BinOp) -> Iterator[Draft]:
    """`[Layer() for _ in range(n)]` for `[Layer()] * n`."""
    match node:
        case ast.BinOp(left=ast.List(elts=[ast.Call() as one]), op=ast.Mult(), right=count):
            made, cost = setting.program.text(one), SLIP
        case ast.BinOp(left=ast.List(elts=[ast.Name() as one]), op=ast.Mult(), right=count):
            made, cost = f"{_deepcopy(setting, node)}({one.id})", CHANGE
        case _:
            return
    text = f"[{made} for _ in range({setting.program.text(count)})]"
    yield put(setting.program, node, text, "copies", cost, _SUBJECT)


def made_once(setting: Setting, node: ast.ListComp | ast.GeneratorExp) -> Iterator[Draft]:
    """`[deepcopy(layer) for _ in range(n)]` for `[layer for _ in range(n)]`."""
    bound = {
        one.id
        for clause in node.generators
        for one in ast.walk(clause.target)
        if isinstance(one, ast.Name)
    }
    if isinstance(node.elt, ast.Name) and node.elt.id not in bound:
        before = f"{_deepcopy(setting, node)}("
        yield wrap(setting.program, node.elt, before, ")", "copies", SLIP, _SUBJECT, loose=True)


def _deepcopy(setting: Setting, node: ast.expr) -> str:
    visible = setting.seen.visible(node)
    if "deepcopy" in visible:
        return "deepcopy"
    return "copy.deepcopy" if "copy" in visible else '__import__("copy").deepcopy'
