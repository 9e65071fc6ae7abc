"""Masks that are missing or wrong, and what is left unfinished."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, UNLIKELY, WRAP, Draft, put, wrap
from grader.explain.rewriting.program.name_similarity import words
from grader.explain.rewriting.program.setting import (
    Setting,
    callee,
    first_tensor,
    is_product,
    known,
    meets_softmax,
)
from grader.explain.rewriting.program.value_kinds import Nature

_INFINITY = 'float("-inf")'
_CONVERSIONS = {"to", "float", "int", "double", "type_as"}


def missing(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Scores masked before they become weights."""
    if not (
        is_product(setting, node) or meets_softmax(setting, node) or _is_to_be_masked(setting, node)
    ):
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


def _is_to_be_masked(setting: Setting, node: ast.expr) -> bool:
    """Returns whether scores are stored as they are under a name that says that they are masked."""
    match setting.parent(node):
        case ast.Assign(targets=[ast.Name(id=name)]) if isinstance(node, ast.Name):
            return "masked" in words(name)
        case _:
            return False


def combined(setting: Setting, node: ast.BinOp | ast.AugAssign | ast.Call) -> Iterator[Draft]:
    """Yields a mask that is added or multiplied, filled in instead."""
    match node:
        case ast.BinOp(left=scores, op=ast.Add() | ast.Mult() | ast.Sub(), right=mask):
            before = ""
        case ast.AugAssign(target=ast.Name() as scores, op=ast.Add() | ast.Mult(), value=mask):
            before = f"{scores.id} = "
        case ast.Call(func=ast.Attribute(value=scores, attr="add" | "mul"), args=[mask]):
            before = ""
        case _:
            return
    bare = _unconverted(mask)
    is_buffer = isinstance(bare, ast.Subscript) and isinstance(bare.value, ast.Attribute)
    is_made = callee(bare) in setting.signatures.mask_makers
    if setting.scopes.nature(bare) is not Nature.MASK and not is_buffer and not is_made:
        return
    if isinstance(bare, ast.Constant):
        return
    program = setting.program
    text = f"{before}{program.outer_text(scores)}"
    if not isinstance(scores, (ast.Name, ast.Call)):
        text = f"{before}({program.text(scores)})"
    for compared in ("== 0", "!= 0"):
        filled = f"{text}.masked_fill({program.outer_text(bare)} {compared}, {_INFINITY})"
        yield put(program, node, filled, "mask", CHANGE, "how a mask is applied")


def triangles(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a square of ones of which only a triangle was meant."""
    if callee(node) in ("tril", "triu"):
        return
    parent = setting.parent(node)
    if callee(node) == "ones" and isinstance(parent, ast.Compare):
        subject = "which part of a mask counts"
        yield wrap(setting.program, node, "", ".tril()", "triangle", CHANGE, subject)
        return
    if setting.scopes.nature(node) is not Nature.MASK:
        return
    if isinstance(node, (ast.Call, ast.Name)) and isinstance(
        parent, (ast.Call, ast.Assign, ast.Return)
    ):
        for after in (".tril()", ".triu()"):
            subject = "which part of a mask counts"
            yield wrap(setting.program, node, "", after, "triangle", WRAP, subject)


def compared(setting: Setting, node: ast.BinOp) -> Iterator[Draft]:
    """Yields a mask of truth values for one of numbers: `x == 0` for `1 - x`."""
    match node:
        case ast.BinOp(left=ast.Constant(value=1), op=ast.Sub(), right=value):
            pass
        case _:
            return
    parent = setting.parent(node)
    if isinstance(parent, (ast.Assign, ast.Return)) and setting.scopes.nature(value).is_tensor:
        text = f"{setting.program.outer_text(value)} == 0"
        subject = "the type of a mask"
        yield put(setting.program, node, text, "comparison", CHANGE, subject)


def _unconverted(node: ast.expr) -> ast.expr:
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _CONVERSIONS:
            return value
        case _:
            return node


def shared(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields `torch.rand_like(x)` for random numbers of a part of a tensor's shape."""
    if callee(node) not in ("rand", "randn", "bernoulli") or not node.args:
        return
    tensors = [one.name for one in setting.seen.variables(node) if one.nature is Nature.TENSOR]
    for tensor in tensors[:1]:
        subject = "how many random numbers there are"
        yield put(setting.program, node, f"torch.rand_like({tensor})", "chance", SLIP, subject)
