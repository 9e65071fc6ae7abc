"""Rewrite rules for arguments and elements: their order, and the bounds and steps of ranges."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from grader.explain.rewriting.edit import (
    CHANGE,
    PRIMARY,
    SLIP,
    WRAP,
    Draft,
    Replacement,
    exchange,
)
from grader.explain.rewriting.program.setting import Setting, integer
from grader.explain.rewriting.program.source import callee
from grader.explain.rewriting.program.vocabulary import kinship

_MANY = 4


def arguments(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields swapped arguments of a call; keyword arguments swap values among themselves."""
    name = callee(node)
    subject = f"the order of the arguments of `{name}`" if name else "the order of arguments"
    values = [keyword.value for keyword in node.keywords if keyword.arg]
    for parts in (node.args, values):
        yield from _reordered(setting, node, parts, "arguments", subject)
    if len(node.args) == len(values) == 1:
        yield from _reordered(setting, node, [*node.args, *values], "arguments", subject)


def elements(setting: Setting, node: ast.Tuple | ast.List) -> Iterator[Draft]:
    """Yields swapped elements of a tuple or a list."""
    is_target = isinstance(node.ctx, ast.Store)
    subject = "the order in which values are unpacked" if is_target else "the order of values"
    yield from _reordered(setting, node, node.elts, "elements", subject)


def entries(setting: Setting, node: ast.Dict) -> Iterator[Draft]:
    """Yields swapped values of a dict."""
    yield from _reordered(setting, node, node.values, "elements", "the order of values")


def _reordered(
    setting: Setting, node: ast.AST, parts: Sequence[ast.expr | ast.arg], kind: str, subject: str
) -> Iterator[Draft]:
    fixed = [isinstance(part, ast.Starred) for part in parts]
    count = len(parts)
    texts = [setting.text(part) for part in parts]
    for one, other in itertools.combinations(range(count), 2):
        near = other == one + 1
        kin = kinship(texts[one], texts[other]) == 2 if count > _MANY else True
        if fixed[one] or fixed[other] or texts[one] == texts[other] or not (near or kin):
            continue
        order = list(range(count))
        order[one], order[other] = other, one
        cost = SLIP if near else CHANGE
        yield exchange(setting, node, parts, order, kind, cost, subject)
    for first in range(count - 2) if count <= _MANY else ():
        places = range(first, first + 3)
        if len({texts[place] for place in places}) == 3 and not any(fixed[p] for p in places):
            for one, second, third in ((1, 2, 0), (2, 0, 1)):
                turned = list(range(count))
                turned[first : first + 3] = first + one, first + second, first + third
                yield exchange(setting, node, parts, turned, kind, WRAP, subject)


_Bounds = tuple[str, ...]


def range_bounds(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields other bounds and steps of a `range` or an `arange`."""
    name = callee(node)
    if name not in ("arange", "range") or not 1 <= len(node.args) <= 3:
        return
    if any(isinstance(one, ast.Starred) for one in node.args):
        return
    start = setting.outer_span(node.args[0]).start
    end = setting.outer_span(node.args[-1]).end
    subject = f"where `{name}` begins and ends"
    for cost, bounds in _other_bounds(setting, node.args):
        piece = Replacement(start, end, ", ".join(bounds))
        yield Draft("range", cost, subject, node, (piece,), start)


def _other_bounds(setting: Setting, given: list[ast.expr]) -> Iterator[tuple[float, _Bounds]]:
    texts = [setting.outer_text(one) for one in given]
    first = texts[0] if len(given) > 1 else "0"
    stop = given[1] if len(given) > 1 else given[0]
    last = setting.outer_text(stop)
    if len(given) == 3:
        if integer(given[2]) == 2:
            held = isinstance(stop, (*PRIMARY, ast.Constant))
            yield CHANGE, (first, f"{last} // 2" if held else f"({last}) // 2")
        yield CHANGE, (first, last)
        return
    whole, bare = None, None
    match stop:
        case ast.BinOp(left=part, op=ast.FloorDiv(), right=ast.Constant(value=2)):
            whole = setting.outer_text(part)
        case ast.BinOp(left=part, op=ast.Sub() | ast.Add(), right=ast.Constant(value=1)):
            bare = setting.outer_text(part)
    if whole is not None:
        yield SLIP, (first, whole, "2")
        yield CHANGE, (whole,) if first == "0" else (first, whole)
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


def _shifted(setting: Setting, node: ast.expr) -> tuple[str, int] | None:
    """Returns the bound and the signed number of `bound + 1` or `bound - 1`, or None."""
    match node:
        case ast.BinOp(
            left=bound, op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=int(by))
        ):
            return setting.outer_text(bound), by if isinstance(op, ast.Add) else -by
    return None
