"""Rewrite rules for slices, indices, `.T`, and axes that are split in another order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.edit import (
    CHANGE,
    SLIP,
    WRAP,
    Draft,
    Replacement,
    exchange,
    instead,
    keep,
    put,
)
from grader.explain.rewriting.program.setting import TURNING, Setting, argument_of, integer
from grader.explain.rewriting.program.source import callee
from grader.explain.rewriting.program.vocabulary import Nature


def slices(setting: Setting, node: ast.Slice) -> Iterator[Draft]:
    """Yields another start, end or stride of a slice."""
    subscript = setting.parent(node)
    if isinstance(subscript, ast.Tuple):
        subscript = setting.parent(subscript)
    if not isinstance(subscript, ast.Subscript):
        return
    lower, upper, step = (
        None if part is None else setting.outer_text(part)
        for part in (node.lower, node.upper, node.step)
    )
    for (start, stop, stride), cost in _others(setting, subscript, node, lower, upper, step):
        text = f"{start or ''}:{stop or ''}" + (f":{stride}" if stride else "")
        piece = instead(setting, node, text)
        subject = f"which part of `{setting.text(subscript.value)}` is taken"
        yield Draft("slice", cost, subject, subscript, (piece,), piece.start)


_Parts = tuple[str | None, str | None, str | None]


def _others(
    setting: Setting,
    subscript: ast.Subscript,
    node: ast.Slice,
    lower: str | None,
    upper: str | None,
    step: str | None,
) -> Iterator[tuple[_Parts, float]]:
    row = subscript.slice.elts if isinstance(subscript.slice, ast.Tuple) else []
    axis = row.index(node) - len(row) if row else 0
    size = f"{setting.text(subscript.value)}.shape[{axis}]"
    if step == "2":
        other = "0" if lower == "1" else "1"
        yield (other, upper, step), SLIP
        yield (lower, upper, None), CHANGE
        yield (None, f"{size} // 2", None), CHANGE
        yield (f"{size} // 2", None, None), CHANGE
        return
    if lower is None and upper is None:
        if not row:
            yield (None, "-1", None), WRAP
            yield ("1", None, None), WRAP
        return
    if upper is not None and lower is None:
        yield (upper, None, step), SLIP
        yield (_negated(upper), None, step), CHANGE
    elif lower is not None and upper is None:
        is_from_end = lower.startswith("-")
        if not is_from_end:
            yield (None, lower, step), SLIP
        yield (None, _negated(lower), step), SLIP if is_from_end else CHANGE
    bound = upper or lower or ""
    is_half = "//" in bound or "half" in bound
    if is_half or not (upper and lower):
        cost = SLIP if is_half else CHANGE
        yield ("0", None, "2"), cost
        yield ("1", None, "2"), cost
    if step is None and upper is not None and upper.isdigit() and upper != "1":
        yield (lower, None, upper), SLIP
    if step is None:
        for begin, end in setting.index.slices(node):
            yield (begin, end, None), SLIP if {lower, upper} & {begin, end} else CHANGE
    if lower is None:
        yield ("1", upper, step), WRAP
    if upper is not None and lower is not None:
        yield (None, upper, step), CHANGE
        yield (lower, None, step), CHANGE


def _negated(bound: str) -> str:
    """Returns a bound counted from the other end."""
    own = bound.removeprefix("-")
    is_plain = own.isdigit() or own.replace(".", "_").isidentifier()
    if not is_plain:
        return f"-({bound})"
    return own if own != bound else f"-{bound}"


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
    """Yields an index with its None at another place or dropped, or with another part dropped."""
    texts = [setting.text(one) for one in index.elts]
    for place, one in enumerate(index.elts):
        rest = [text for other, text in enumerate(texts) if other != place]
        if not (isinstance(one, ast.Constant) and one.value is None):
            if len(rest) > 0 and texts[place] != "...":
                yield put(setting, index, ", ".join(rest), "index-dropped", WRAP, subject)
            if texts[place] == ":" and place == 0:
                yield put(setting, index, ", ".join(["...", *rest]), "index", WRAP, subject)
            continue
        yield put(setting, index, ", ".join(rest), "added-axis", CHANGE, subject)
        for target in range(len(texts)):
            moved = [*rest[:target], "None", *rest[target:]]
            yield put(setting, index, ", ".join(moved), "added-axis", SLIP, subject)
    if texts[:1] == ["..."] and "None" in texts:
        for tail in (["None"], ["None", ":"], ["None", ":", ":"]):
            yield put(setting, index, ", ".join(["...", *tail]), "added-axis", CHANGE, subject)


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


def untransposed(setting: Setting, node: ast.Attribute) -> Iterator[Draft]:
    """Yields `.T` and `.mT` dropped, or one in the other's place."""
    if node.attr not in ("T", "mT", "mH", "H") or not isinstance(node.ctx, ast.Load):
        return
    end = setting.span(node).end
    start = setting.outer_span(node.value).end
    subject = "a transposition that may not belong there"
    piece = Replacement(start, end, "")
    at = end - len(node.attr)
    yield Draft("transposition-dropped", SLIP, subject, node, (piece,), at)
    other = "mT" if node.attr == "T" else "T"
    piece = Replacement(end - len(node.attr), end, other)
    yield Draft("transposed-axes", CHANGE, "a transposition", node, (piece,), at)


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
