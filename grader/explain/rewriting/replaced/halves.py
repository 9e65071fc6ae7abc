"""Features in pairs or halves, strides of ranges, rows of tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, PRIMARY, SLIP, WRAP, Draft, Replacement, put, wrap
from grader.explain.rewriting.program.setting import Setting, callee, integer
from grader.explain.rewriting.program.value_kinds import Nature


def joined(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields `cat` of halves instead of `stack` of pairs, and the other way round."""
    program = setting.program
    subject = "how two halves of the features are put together"
    match node:
        case ast.Call(
            func=ast.Attribute(attr="flatten", value=ast.Call(func=ast.Attribute(attr="stack")))
        ) if isinstance(node.func, ast.Attribute):
            inner = node.func.value
            end = program.span(inner).end
            rest = Replacement(end, program.span(node).end, "")
            pieces = (_renamed(setting, inner, "cat"), rest)
            yield Draft("halves", WRAP, subject, node, pieces, pieces[0].start, "halved")
        case ast.Call(func=ast.Attribute(attr="cat" | "concat")):
            end = program.span(node).end
            pieces = (
                _renamed(setting, node, "stack"),
                Replacement(end, end, ".flatten(-2)"),
            )
            yield Draft("halves", CHANGE, subject, node, pieces, pieces[0].start, "strided")


def _renamed(setting: Setting, call: ast.expr, name: str) -> Replacement:
    assert isinstance(call, ast.Call)
    end = setting.program.span(call.func).end
    return Replacement(end - len(callee(call)), end, name)


def chunked(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Halves of `chunk` instead of every other feature."""
    if callee(node) == "chunk" and isinstance(node.func, ast.Attribute):
        whole = setting.program.outer_text(node.func.value)
        text = f"({whole}[..., 0::2], {whole}[..., 1::2])"
        subject = "which half of the features is which"
        yield put(setting.program, node, text, "halves", CHANGE, subject, "strided")


def twice(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields each feature twice in a row for all features twice, and the other way round."""
    name, program = callee(node), setting.program
    subject = "how features are repeated"
    match node:
        case ast.Call(args=[ast.Tuple(elts=[one, other]) | ast.List(elts=[one, other]), *_]) if (
            name in ("cat", "concat", "hstack")
        ):
            same = program.text(one) == program.text(other)
        case ast.Call(args=[ast.BinOp(left=ast.List(elts=[one]), op=ast.Mult()), *_]) if name in (
            "cat",
            "concat",
            "hstack",
        ):
            same = True
        case ast.Call(func=ast.Attribute(value=one), args=[*_]) if name in (
            "repeat",
            "tile",
            "repeat_interleave",
        ):
            same = True
        case _:
            return
    if not same or isinstance(one, ast.Starred):
        return
    held = program.outer_text(one)
    held = held if isinstance(one, PRIMARY) or held.startswith("(") else f"({held})"
    texts = {
        f"{held}.repeat_interleave(2, dim=-1)",
        f"torch.cat(({program.text(one)}, {program.text(one)}), dim=-1)",
    }
    for text in sorted(texts):
        yield put(program, node, text, "halves", CHANGE, subject, "twice")


_Bounds = tuple[str, ...]


def strides(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields other bounds and steps of a range, all at once."""
    name = callee(node)
    if name not in ("arange", "range") or not 1 <= len(node.args) <= 3:
        return
    if any(isinstance(one, ast.Starred) for one in node.args):
        return
    program = setting.program
    start = program.outer_span(node.args[0]).start
    end = program.outer_span(node.args[-1]).end
    subject = f"where a `{name}` begins and ends"
    for cost, bounds in _others(setting, node.args):
        piece = Replacement(start, end, ", ".join(bounds))
        yield Draft("range", cost, subject, node, (piece,), start, (name, bounds))


def _others(setting: Setting, given: list[ast.expr]) -> Iterator[tuple[float, _Bounds]]:
    program = setting.program
    texts = [program.outer_text(one) for one in given]
    first = texts[0] if len(given) > 1 else "0"
    stop = given[1] if len(given) > 1 else given[0]
    last = program.outer_text(stop)
    if len(given) == 3:
        if integer(given[2]) == -1:
            for bound in dict.fromkeys((first, first.removesuffix(" - 1"), f"{first} + 1")):
                yield CHANGE, ("0", bound)
        if integer(given[2]) == -2:
            yield CHANGE, (last, first, "2")
        if integer(given[2]) == 2:
            yield CHANGE, (first, f"{last} // 2")
        yield CHANGE, (first, last)
        return
    whole = _without_half(setting, stop)
    if whole is not None:
        yield SLIP, (first, whole, "2")
        yield CHANGE, (first, whole)
        yield CHANGE, (whole,) if first == "0" else (first, last, "2")
    bare = _without_one(setting, stop)
    if bare is not None:
        yield CHANGE, (first, bare, "2")
    yield WRAP, (first, last, "2")
    yield WRAP, (last, first) if len(given) > 1 else ("1", last)
    begin = integer(given[0]) if len(given) > 1 else None
    shifted = _shifted(setting, stop)
    if begin is not None and shifted is not None:
        bound, by = shifted
        for move in (-1, 1):
            rest = by + move
            new = f"{bound} + {rest}" if rest > 0 else f"{bound} - {-rest}" if rest else bound
            yield SLIP, (str(begin + move), new)


def _without_half(setting: Setting, node: ast.expr) -> str | None:
    match node:
        case ast.BinOp(left=whole, op=ast.FloorDiv(), right=ast.Constant(value=2)):
            return setting.program.outer_text(whole)
        case _:
            return None


def _without_one(setting: Setting, node: ast.expr) -> str | None:
    match node:
        case ast.BinOp(left=whole, op=ast.Sub() | ast.Add(), right=ast.Constant(value=1)):
            return setting.program.outer_text(whole)
        case _:
            return None


def _shifted(setting: Setting, node: ast.expr) -> tuple[str, int] | None:
    """Returns a bound that is moved by a number, and by which."""
    match node:
        case ast.BinOp(
            left=bound, op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=int(by))
        ):
            return setting.program.outer_text(bound), by if isinstance(op, ast.Add) else -by
        case _:
            return None


_CUTTING = {"chunk", "split", "tensor_split", "unbind", "hsplit", "vsplit"}
_SUBJECT = "whether rows or columns of `{}` are taken"


def parts(setting: Setting, node: ast.Subscript) -> Iterator[Draft]:
    """Yields `w[a:b].T` for `w[:, a:b]`, `w[:, a:b].T` for `w[a:b]`, if `x @ w.T` is meant."""
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
    """Yields `w.T.chunk(n, dim=1)` for `w.chunk(n, dim=1)`."""
    if callee(node) not in _CUTTING or not isinstance(node.func, ast.Attribute):
        return
    is_function = isinstance(node.func.value, ast.Name) and node.func.value.id == "torch"
    if is_function and not node.args:
        return
    matrix = node.args[0] if is_function else node.func.value
    if _is_matrix(setting, matrix):
        subject = _SUBJECT.format(setting.program.text(matrix))
        yield wrap(setting.program, matrix, "", ".T", "rows", SLIP, subject, "pieces")


def _is_matrix(setting: Setting, node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute)) and (
        setting.scopes.nature(node) is Nature.WEIGHT
    )


def _is_all(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and not (node.lower or node.upper or node.step)


def _is_part(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and bool(node.lower or node.upper) and not node.step
