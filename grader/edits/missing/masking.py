"""Masks: missing, multiplied or added instead of filled in, without their triangle."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.edits.draft import CHANGE, UNLIKELY, WRAP, Draft, put, wrap
from grader.edits.reading.natures import Nature
from grader.edits.reading.setting import (
    Setting,
    callee,
    first_tensor,
    is_product,
    known,
    meets_softmax,
)

_INFINITY = 'float("-inf")'
_CONVERSIONS = {"to", "float", "int", "double", "type_as"}


def missing(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Scores masked before they become weights."""
    if not (is_product(setting, node) or meets_softmax(setting, node)):
        return
    subject = "a mask that is missing"
    for mask in known(setting, node, Nature.MASK)[:2]:
        for sign, cost in (("~", CHANGE), ("", WRAP)):
            after = f".masked_fill({sign}{mask}, {_INFINITY})"
            yield wrap(setting.program, node, "", after, "mask", cost, subject)
    scores = node.id if isinstance(node, ast.Name) else first_tensor(setting, node)
    if scores:
        size = f"{scores}.shape[{-1 if isinstance(node, ast.Name) else -2}]"
        triangle = f"torch.ones({size}, {size}, dtype=torch.bool).tril()"
        for sign, cost in (("~", CHANGE), ("", UNLIKELY)):
            after = f".masked_fill({sign}{triangle}, {_INFINITY})"
            yield wrap(setting.program, node, "", after, "mask", cost, subject)


def combined(setting: Setting, node: ast.BinOp | ast.AugAssign | ast.Call) -> Iterator[Draft]:
    """A mask that is added or multiplied, filled in instead."""
    match node:
        case ast.BinOp(left=scores, op=ast.Add() | ast.Mult(), right=mask):
            before = ""
        case ast.AugAssign(target=ast.Name() as scores, op=ast.Add() | ast.Mult(), value=mask):
            before = f"{scores.id} = "
        case ast.Call(func=ast.Attribute(value=scores, attr="add" | "mul"), args=[mask]):
            before = ""
        case _:
            return
    bare = _unconverted(mask)
    if setting.scopes.nature(bare) is not Nature.MASK or isinstance(bare, ast.Constant):
        return
    program = setting.program
    text = f"{before}{program.outer_text(scores)}"
    if not isinstance(scores, (ast.Name, ast.Call)):
        text = f"{before}({program.text(scores)})"
    for sign in ("~", ""):
        filled = f"{text}.masked_fill({sign}{program.outer_text(bare)}, {_INFINITY})"
        yield put(program, node, filled, "mask", CHANGE, "how a mask is applied")


def triangles(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """A square of ones of which only a triangle was meant."""
    if setting.scopes.nature(node) is not Nature.MASK or callee(node) in ("tril", "triu"):
        return
    parent = setting.parent(node)
    if isinstance(node, (ast.Call, ast.Name)) and isinstance(
        parent, (ast.Call, ast.Assign, ast.Return)
    ):
        for after in (".tril()", ".triu()"):
            subject = "which part of a mask counts"
            yield wrap(setting.program, node, "", after, "triangle", WRAP, subject)


def _unconverted(node: ast.expr) -> ast.expr:
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _CONVERSIONS:
            return value
        case _:
            return node
