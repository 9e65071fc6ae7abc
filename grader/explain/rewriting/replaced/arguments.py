"""Rewrite rules for the order of arguments and elements."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP, Draft, exchange
from grader.explain.rewriting.program.setting import Setting
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
