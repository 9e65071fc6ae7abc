"""Rows of a matrix for columns, and columns for rows: parts that are cut along the other axis."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.draft import CHANGE, SLIP, Draft, put, wrap
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.setting import Setting, callee
from grader.explain.rewriting.program.value_kinds import Nature

_CUTTING = {"chunk", "split", "tensor_split", "unbind", "hsplit", "vsplit"}
_SUBJECT = "whether rows or columns of `{}` are taken"


def parts(setting: Setting, node: ast.Subscript) -> Iterator[Draft]:
    """`w[a:b].T` for `w[:, a:b]`, `w[:, a:b].T` for `w[a:b]`: right where `x @ w.T` is meant."""
    if not isinstance(node.ctx, ast.Load) or not _is_matrix(setting, node.value):
        return
    program = setting.program
    name = program.text(node.value)
    subject = _SUBJECT.format(name)
    match node.slice:
        case ast.Tuple(elts=[first, part]) if _is_all(first) and _is_part(part):
            text = f"{name}[{program.text(part)}].T"
        case ast.Tuple(elts=[part, last]) if _is_part(part) and _is_all(last):
            text = f"{name}[:, {program.text(part)}].T"
        case ast.Slice() as part if _is_part(part):
            text = f"{name}[:, {program.text(part)}].T"
        case _:
            return
    yield put(program, node, text, "rows", SLIP, subject, "part")


def pieces(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """`w.T.chunk(n, dim=1)` for `w.chunk(n, dim=1)`."""
    if callee(node) not in _CUTTING or not isinstance(node.func, ast.Attribute):
        return
    is_function = isinstance(node.func.value, ast.Name) and node.func.value.id == "torch"
    if is_function and not node.args:
        return
    matrix = node.args[0] if is_function else node.func.value
    if _is_matrix(setting, matrix):
        subject = _SUBJECT.format(setting.program.text(matrix))
        yield wrap(setting.program, matrix, "", ".T", "rows", SLIP, subject, "pieces")


def joined_rows(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """`torch.cat([a, b]).T` for `torch.cat([a, b], 1)`, of matrices."""
    if callee(node) not in ("cat", "concat", "concatenate") or not node.args:
        return
    listed = node.args[0]
    if not isinstance(listed, (ast.List, ast.Tuple)) or not listed.elts:
        return
    if not all(_is_matrix(setting, one) for one in listed.elts):
        return
    program = setting.program
    has_axis = len(node.args) > 1 or any(one.arg in ("dim", "axis") for one in node.keywords)
    own = program.text(listed)
    text = f"torch.cat({own}).T" if has_axis else f"torch.cat({own}, dim=1).T"
    subject = "whether matrices are joined by rows or by columns"
    yield put(program, node, text, "rows", CHANGE, subject)


def _is_matrix(setting: Setting, node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute)) and (
        setting.scopes.nature(node) is Nature.WEIGHT
    )


def _is_all(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and not (node.lower or node.upper or node.step)


def _is_part(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and bool(node.lower or node.upper) and not node.step


def merged(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """`x.transpose(-3, -2).flatten(-2)` for what else is done to heads to make one axis less."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=heads, attr="flatten" | "sum" | "mean"), args=[_, *_]
        ) if setting.scopes.nature(heads) is Nature.TENSOR:
            pass
        case _:
            return
    match heads:
        case ast.Attribute(value=turned, attr="mT"):
            whole = setting.program.outer_text(turned)
        case _:
            whole = setting.program.outer_text(heads)
    text = f"{whole}.transpose(-3, -2).flatten(-2)"
    yield put(setting.program, node, text, "rows", CHANGE, "which axes are put together")


def flattened(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """`x.reshape(-1, *x.shape[-2:])` for `x.reshape(1, -1, width)`."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=value, attr="reshape" | "view"),
            args=[ast.Constant(value=1), ast.UnaryOp(), _],
        ):
            text = setting.program.text(value)
        case _:
            return
    start = setting.program.outer_span(node.args[0]).start
    end = setting.program.outer_span(node.args[-1]).end
    pieces = (Replacement(start, end, f"-1, *{text}.shape[-2:]"),)
    yield Draft("rows", CHANGE, "which axes are put together", node, pieces, start)
