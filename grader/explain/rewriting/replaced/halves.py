"""Features in pairs or halves, strides of ranges, rows of tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP, Draft, Replacement
from grader.explain.rewriting.program.setting import Setting, callee, integer

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
