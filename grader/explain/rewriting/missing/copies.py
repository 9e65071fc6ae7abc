"""One object in several places, where each was to have its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.draft import CHANGE, SLIP, Draft, put, wrap
from grader.explain.rewriting.program.setting import Setting

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


def tied(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """`self.key = Layer(n)` for `self.key = self.query`, which was made so."""
    match node:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"))], value=ast.Attribute()):
            own = setting.program.text(node.value)
        case _:
            return
    for one in ast.walk(setting.program.scope(node)):
        if (
            isinstance(one, ast.Assign)
            and isinstance(one.value, ast.Call)
            and own in map(setting.program.text, one.targets)
        ):
            text = setting.program.text(one.value)
            subject = "that there is only one of what two names stand for"
            yield put(setting.program, node.value, text, "copies", SLIP, subject)


def _deepcopy(setting: Setting, node: ast.expr) -> str:
    visible = setting.seen.visible(node)
    if "deepcopy" in visible:
        return "deepcopy"
    return "copy.deepcopy" if "copy" in visible else '__import__("copy").deepcopy'
