"""Rewrite rules for slices, indices, `.T`, and axes that are split in another order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, Draft, Replacement, exchange, keep, put
from grader.explain.rewriting.program.setting import TURNING, Setting, argument_of, integer
from grader.explain.rewriting.program.source import callee
from grader.explain.rewriting.program.vocabulary import Nature


def indices(setting: Setting, node: ast.Subscript) -> Iterator[Draft]:
    """Yields an index dropped or moved by one, a slice up to it, or axes added elsewhere."""
    if not isinstance(node.ctx, ast.Load):
        return
    subject = f"an index of `{setting.text(node.value)}`"
    is_shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    given = argument_of(setting, node)
    is_size = given is not None and callee(given[0]).startswith(("rand", "zeros", "ones", "empty"))
    if not is_shape or is_size:
        # Dropping a reversal keeps the shape, and is therefore likelier.
        cost = SLIP if setting.text(node.slice) == "::-1" else CHANGE
        yield keep(setting, node, node.value, "index-dropped", cost, subject)
    if isinstance(node.slice, ast.Name) and setting.scopes.nature(node.slice) is Nature.SIZE:
        for text in (f"{node.slice.id} + 1", f"{node.slice.id} - 1"):
            yield put(setting, node.slice, text, "index", SLIP, subject)
        yield put(setting, node.slice, f":{node.slice.id}", "index", CHANGE, subject)
    match node.slice:
        case ast.Name() | ast.BinOp() | ast.UnaryOp() | ast.Slice() | ast.Constant(value=int()):
            may_be_last = setting.scopes.nature(node.value) is Nature.TENSOR
        case _:
            may_be_last = False
    if may_be_last:
        at = setting.outer_span(node.slice).start
        yield Draft("index", CHANGE, subject, node, (Replacement(at, at, "..., "),), at)
    if isinstance(node.slice, ast.Constant) and node.slice.value is None:
        for text in ("..., None", ":, None", "..., None, :"):
            yield put(setting, node.slice, text, "added-axis", SLIP, subject)
    if isinstance(node.slice, ast.Tuple):
        yield from _added_axes(setting, node.slice, subject)


def _added_axes(setting: Setting, index: ast.Tuple, subject: str) -> Iterator[Draft]:
    """Yields an index with its None at another place."""
    texts = [setting.text(one) for one in index.elts]
    for place, one in enumerate(index.elts):
        rest = [text for other, text in enumerate(texts) if other != place]
        if not (isinstance(one, ast.Constant) and one.value is None):
            continue
        for target in range(len(texts)):
            moved = [*rest[:target], "None", *rest[target:]]
            yield put(setting, index, ", ".join(moved), "added-axis", SLIP, subject)


_PAIRS = (("-2", "-1"), ("1", "2"), ("-3", "-2"), ("-3", "-1"), ("0", "1"), ("2", "3"))


def turned(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields other axes of a transposition, and `.T` or `.mT` in its place."""
    if callee(node) not in TURNING or len(node.args) < 2:
        return
    first, second = node.args[-2:]
    own = (integer(first), integer(second))
    pairs: list[tuple[str, str]] = list(_PAIRS)
    if callee(node) in ("movedim", "moveaxis"):  # the order of their axes matters
        pairs += [(after, before) for before, after in _PAIRS]
        kept = {own}
    else:
        kept = {own, own[::-1]}
    for pair in pairs:
        if (int(pair[0]), int(pair[1])) not in kept:
            span = (setting.outer_span(first).start, setting.outer_span(second).end)
            piece = Replacement(*span, ", ".join(pair))
            subject = "the axes that a transposition swaps"
            is_from_front = all(axis is not None and axis >= 0 for axis in own)
            if is_from_front and pair[0].startswith("-"):
                subject += ", and from which end they are counted"
            yield Draft("transposed-axes", SLIP, subject, node, (piece,), span[0])


def split(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields an axis split in another order, with or without a transposition after it."""
    name, sizes = callee(node), _sizes(node)
    count = len(sizes)
    # The written sizes may be added to another shape.
    is_whole = not (node.args and isinstance(node.args[-1], ast.BinOp))
    if name not in ("view", "reshape") or count < (3 if is_whole else 2):
        return
    end = setting.span(node).end
    subject = f"how `{name}` splits an axis"
    texts = [setting.text(size) for size in sizes]
    from_end = not is_whole or any(isinstance(size, ast.Starred) for size in sizes)
    turned = _turn_after(setting, node)
    for place in range(max(0, count - 3), count - 1):
        if texts[place] == texts[place + 1] or isinstance(sizes[place], ast.Starred):
            continue
        order = list(range(count))
        order[place], order[place + 1] = place + 1, place
        swap = exchange(setting, node, sizes, order, "split", CHANGE, subject)
        axes = (place - count, place + 1 - count) if from_end or place > 1 else (place, place + 1)
        turn = Replacement(end, end, f".transpose({axes[0]}, {axes[1]})")
        pieces = (*swap.pieces, turn)
        yield Draft("split", CHANGE, subject, node, pieces, swap.at)
        if turned is not None:
            pieces = (*swap.pieces, Replacement(end, setting.span(turned).end, ""))
            yield Draft("split", CHANGE, subject, turned, pieces, swap.at)


def _sizes(node: ast.Call) -> list[ast.expr]:
    """Returns the sizes that are written out in a call of `view` or `reshape`."""
    given = list(node.args)
    match node.func:
        case ast.Attribute(value=ast.Name(id="torch")):
            given = given[1:]
    if len(given) == 1 and isinstance(given[0], ast.BinOp) and isinstance(given[0].op, ast.Add):
        given = [given[0].right]
    if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)):
        return given[0].elts
    return given


def _turn_after(setting: Setting, node: ast.Call) -> ast.Call | None:
    """Returns the transposition that directly follows a call, or None."""
    parent = setting.parent(node)
    if isinstance(parent, ast.Attribute) and parent.attr in TURNING:
        around = setting.parent(parent)
        return around if isinstance(around, ast.Call) and len(around.args) == 2 else None
    return None
