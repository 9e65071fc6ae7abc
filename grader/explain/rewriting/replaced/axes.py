"""Layout: other transpositions, none, and axes that are split otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.edit import (
    CHANGE,
    SLIP,
    Draft,
    Replacement,
    exchange,
)
from grader.explain.rewriting.program.setting import (
    Setting,
    callee,
    integer,
)

_TURNING = {"t", "transpose", "swapaxes", "swapdims", "movedim", "moveaxis"}
_PAIRS = (("-2", "-1"), ("1", "2"), ("-3", "-2"), ("-3", "-1"), ("0", "1"), ("2", "3"))


def turned(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields other axes of a transposition, and `.T` or `.mT` in its place."""
    if callee(node) not in _TURNING or len(node.args) < 2:
        return
    first, second = node.args[-2:]
    own = (integer(first), integer(second))
    program = setting.program
    pairs: list[tuple[str, str]] = list(_PAIRS)
    if callee(node) in ("movedim", "moveaxis"):  # of which the order matters
        pairs += [(after, before) for before, after in _PAIRS]
        kept = {own}
    else:
        kept = {own, own[::-1]}
    for pair in pairs:
        if (int(pair[0]), int(pair[1])) not in kept:
            span = (program.outer_span(first).start, program.outer_span(second).end)
            piece = Replacement(*span, ", ".join(pair))
            subject = "the axes that a transposition exchanges"
            if _from_the_other_end(own, pair):
                subject += ", and from which end they are counted"
            alike = ("turned", *sorted(map(str, own)), pair)
            yield Draft("transposed-axes", SLIP, subject, node, (piece,), span[0], alike)


def _from_the_other_end(own: tuple[int | None, ...], pair: tuple[str, ...]) -> bool:
    """Returns whether axes that were counted from the front would be counted from the end."""
    return all(axis is not None and axis >= 0 for axis in own) and pair[0].startswith("-")


def untransposed(setting: Setting, node: ast.Attribute) -> Iterator[Draft]:
    """Yields `.T` and `.mT` dropped, or exchanged."""
    if node.attr not in ("T", "mT", "mH", "H") or not isinstance(node.ctx, ast.Load):
        return
    program = setting.program
    end = program.span(node).end
    start = program.outer_span(node.value).end
    subject = "a transposition that may not belong there"
    piece = Replacement(start, end, "")
    alike = ("untransposed", node.attr)
    at = end - len(node.attr)
    yield Draft("transposition-dropped", SLIP, subject, node, (piece,), at, alike)
    other = "mT" if node.attr == "T" else "T"
    piece = Replacement(end - len(node.attr), end, other)
    yield Draft("transposed-axes", CHANGE, "a transposition", node, (piece,), at, alike)


def split(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields an axis split in another order, with or without a transposition after it."""
    name, sizes = callee(node), _sizes(node)
    count = len(sizes)
    is_whole = _is_listed_whole(node)
    if name not in ("view", "reshape") or count < (3 if is_whole else 2):
        return
    program = setting.program
    end = program.span(node).end
    subject = f"how `{name}` splits an axis"
    texts = [program.text(size) for size in sizes]
    from_end = not is_whole or any(isinstance(size, ast.Starred) for size in sizes)
    turned = _turn_after(setting, node)
    for place in range(max(0, count - 3), count - 1):
        if texts[place] == texts[place + 1] or isinstance(sizes[place], ast.Starred):
            continue
        order = list(range(count))
        order[place], order[place + 1] = place + 1, place
        swap = exchange(program, node, sizes, order, "split", CHANGE, subject)
        axes = (place - count, place + 1 - count) if from_end or place > 1 else (place, place + 1)
        turn = Replacement(end, end, f".transpose({axes[0]}, {axes[1]})")
        pieces = (*swap.pieces, turn)
        yield Draft("split", CHANGE, subject, node, pieces, swap.at, ("split", name, place))
        if turned is not None:
            pieces = (*swap.pieces, Replacement(end, program.span(turned).end, ""))
            yield Draft("split", CHANGE, subject, turned, pieces, swap.at)


def _sizes(node: ast.Call) -> list[ast.expr]:
    """Returns the sizes that a shape is listed by, as far as they are written out."""
    given = list(node.args)
    match node.func:
        case ast.Attribute(value=ast.Name(id="torch")):
            given = given[1:]
    if len(given) == 1 and isinstance(given[0], ast.BinOp) and isinstance(given[0].op, ast.Add):
        given = [given[0].right]
    if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)):
        return given[0].elts
    return given


def _is_listed_whole(node: ast.Call) -> bool:
    """Returns whether nothing stands before the sizes that are written out."""
    return not (node.args and isinstance(node.args[-1], ast.BinOp))


def _turn_after(setting: Setting, node: ast.Call) -> ast.Call | None:
    """Returns the transposition of what a call returns, if one follows at once."""
    parent = setting.parent(node)
    if isinstance(parent, ast.Attribute) and parent.attr in _TURNING:
        around = setting.parent(parent)
        return around if isinstance(around, ast.Call) and len(around.args) == 2 else None
    return None
