"""Order: of arguments, of the elements of a tuple or a list, of what is unpacked."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from grader.explain.rewriting.draft import CHANGE, SLIP, WRAP, Draft, exchange, put
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.name_similarity import kinship
from grader.explain.rewriting.program.setting import Setting, callee

_MANY = 4


def arguments(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Arguments of a call exchanged, those by keyword among themselves."""
    name = callee(node)
    subject = f"the order of the arguments of `{name}`" if name else "the order of arguments"
    values = [keyword.value for keyword in node.keywords if keyword.arg]
    for parts in (node.args, values):
        yield from _orders(setting, node, parts, "arguments", subject, name)
    if len(node.args) == len(values) == 1:
        yield from _orders(setting, node, [*node.args, *values], "arguments", subject, name)


def by_name(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """`Config(width, bias=bias)` for `Config(width, bias)`, whose second parameter is another."""
    signature = setting.signature(node)
    if signature is None or any(isinstance(one, ast.Starred) for one in node.args):
        return
    taken = [one.name for one in (*signature.positional, *signature.by_keyword)]
    own = [one.id if isinstance(one, ast.Name) else "" for one in node.args]
    first = next(
        (place for place, name in enumerate(own) if name in taken and taken.index(name) != place),
        len(own),
    )
    late = own[first:]
    if late and len(set(late)) == len(late) and set(late) <= set(taken[first:]):
        start = setting.program.outer_span(node.args[first]).start
        end = setting.program.outer_span(node.args[-1]).end
        text = ", ".join(f"{one}={one}" for one in late)
        subject = f"what `{callee(node)}` is given"
        yield Draft("arguments", SLIP, subject, node, (Replacement(start, end, text),), start)


def elements(setting: Setting, node: ast.Tuple | ast.List) -> Iterator[Draft]:
    """Elements of a tuple or a list exchanged, or one dropped."""
    parent = setting.parent(node)
    if isinstance(parent, ast.Return):
        around = setting.program.scope(node)
        name = "" if isinstance(around, ast.Module) else around.name
        subject = f"the order of what `{name}` returns"
    elif isinstance(node.ctx, ast.Store):
        subject = "the order in which values are unpacked"
    elif isinstance(parent, ast.Call):
        subject = f"the order of what `{callee(parent)}` gets"
    elif isinstance(parent, ast.Subscript):
        subject = "the order of indices"
    else:
        subject = "the order of values"
    yield from _orders(setting, node, node.elts, "elements", subject, type(parent).__name__)


def entries(setting: Setting, node: ast.Dict) -> Iterator[Draft]:
    """Values of a dict exchanged; another dict's entries before its own, or after them."""
    if None not in node.keys:
        yield from _orders(setting, node, node.values, "elements", "the order of values", "dict")
        return
    program = setting.program
    texts = [
        f"**{program.outer_text(value)}"
        if key is None
        else f"{program.text(key)}: {program.outer_text(value)}"
        for key, value in zip(node.keys, node.values, strict=True)
    ]
    subject = "which of two entries under one key counts"
    for place, key in enumerate(node.keys):
        rest = [*texts[:place], *texts[place + 1 :]]
        for moved in ([texts[place], *rest], [*rest, texts[place]]):
            if key is None and moved != texts:
                text = "{" + ", ".join(moved) + "}"
                yield put(program, node, text, "elements", SLIP, subject)


def _orders(
    setting: Setting,
    node: ast.AST,
    parts: Sequence[ast.expr],
    kind: str,
    subject: str,
    around: str,
) -> Iterator[Draft]:
    fixed = [isinstance(part, ast.Starred) for part in parts]
    count = len(parts)
    texts = [setting.program.text(part) for part in parts]
    for one, other in itertools.combinations(range(count), 2):
        near = other == one + 1
        kin = kinship(texts[one], texts[other]) == 2 if count > _MANY else True
        if fixed[one] or fixed[other] or texts[one] == texts[other] or not (near or kin):
            continue
        order = list(range(count))
        order[one], order[other] = other, one
        cost = SLIP if near else CHANGE
        alike = (around, count)
        yield exchange(setting.program, node, parts, order, kind, cost, subject, alike)
    for first in range(count - 2) if count <= _MANY else ():
        places = range(first, first + 3)
        if len({texts[place] for place in places}) == 3 and not any(fixed[p] for p in places):
            for one, second, third in ((1, 2, 0), (2, 0, 1)):
                turned = list(range(count))
                turned[first : first + 3] = first + one, first + second, first + third
                yield exchange(setting.program, node, parts, turned, kind, WRAP, subject, around)
