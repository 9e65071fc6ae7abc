"""Ranges counted from one, parameters in another order."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from grader.explain.rewriting.draft import CHANGE, SLIP, Draft, exchange
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.name_similarity import kinship
from grader.explain.rewriting.program.setting import Setting, callee, integer


def ranges(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Both bounds of a range moved by one."""
    if callee(node) not in ("arange", "range"):
        for one in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(one, ast.Tuple) and len(one.elts) == 2:
                yield from _moved(setting, node, one.elts, "where something begins and ends")
        return
    program = setting.program
    subject = f"where a `{callee(node)}` begins and ends"
    if len(node.args) >= 2 and integer(node.args[0]) in (1, 2):
        yield from _moved(setting, node, node.args, subject)
    elif len(node.args) == 1 or (len(node.args) > 1 and integer(node.args[0]) == 0):
        stop = node.args[0] if len(node.args) == 1 else node.args[1]
        if isinstance(stop, ast.Starred):
            return
        begin, end = program.outer_span(node.args[0]).start, program.outer_span(stop).end
        piece = Replacement(begin, end, f"1, {program.outer_text(stop)} + 1")
        yield Draft("bounds", CHANGE, subject, node, (piece,), begin)


def _moved(
    setting: Setting, node: ast.Call, parts: Sequence[ast.expr], subject: str
) -> Iterator[Draft]:
    """`0, n` for `1, n + 1`, and for `2, n + 2`."""
    program = setting.program
    start, stop = parts[:2]
    by = integer(start)
    if by in (1, 2):
        match stop:
            case ast.BinOp(left=bound, op=ast.Add(), right=ast.Constant(value=more)):
                pass
            case ast.BinOp(left=ast.Constant(value=more), op=ast.Add(), right=bound):
                pass
            case _:
                return
        if more != by:
            return
        first, second = program.span(start), program.outer_span(stop)
        pieces = (
            Replacement(first.start, first.end, "0"),
            Replacement(second.start, second.end, program.outer_text(bound)),
        )
        yield Draft("bounds", SLIP, subject, node, pieces, first.start)


def parameters(setting: Setting, node: ast.arguments) -> Iterator[Draft]:
    """Two parameters in a row in the other order."""
    required = node.args[: len(node.args) - len(node.defaults)]
    for first, second in itertools.pairwise(required):
        if first.arg in ("self", "cls"):
            continue
        cost = SLIP if kinship(first.arg, second.arg) == 2 else CHANGE
        subject = "the order of parameters"
        yield exchange(setting.program, node, (first, second), (1, 0), "parameters", cost, subject)
