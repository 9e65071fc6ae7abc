"""Features in pairs or in halves: strided or cut in two, stacked or laid side by side."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.draft import CHANGE, PRIMARY, WRAP, Draft, put
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.setting import Setting, callee


def joined(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """`cat` of halves instead of `stack` of pairs, and the other way round."""
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


def interleaved(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """`stack` of pairs instead of halves that `cat` puts one after the other, of one axis."""
    if callee(node) in ("cat", "concat", "hstack") and len(node.args) == 1 and not node.keywords:
        program = setting.program
        text = f"torch.stack({program.text(node.args[0])}, dim=-1).flatten(-2)"
        subject = "how two halves of the features are put together"
        yield put(program, node, text, "halves", CHANGE, subject)


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
    """Each feature twice in a row for all features twice, and the other way round."""
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


def parities(setting: Setting, node: ast.Compare) -> Iterator[Draft]:
    """`k % 2 == 0`, every other feature, for `k < n // 2`, the first half of them."""
    match node:
        case ast.Compare(
            left=left,
            ops=[ast.Lt() | ast.GtE() as op],
            comparators=[ast.BinOp(op=ast.FloorDiv(), right=ast.Constant(value=2))],
        ):
            whole = setting.program.outer_text(left)
            text = f"{whole} % 2 == {int(isinstance(op, ast.GtE))}"
            subject = "which half of the features is which"
            yield put(setting.program, node, text, "halves", WRAP, subject)
        case _:
            pass


def unflattened(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """`unflatten(-1, (2, -1))`, whose pairs are turned, for `unflatten(-1, (-1, 2))`."""
    if callee(node) != "unflatten" or len(node.args) != 2:
        return
    sizes = node.args[1]
    if isinstance(sizes, ast.Tuple) and len(sizes.elts) == 2:
        program = setting.program
        first, second = (program.span(one) for one in sizes.elts)
        pieces = (
            Replacement(first.start, first.end, program.text(sizes.elts[1])),
            Replacement(second.start, second.end, program.text(sizes.elts[0])),
            Replacement(program.span(node).end, program.span(node).end, ".transpose(-2, -1)"),
        )
        subject = "how an axis is split"
        yield Draft("split", CHANGE, subject, node, pieces, first.start)
