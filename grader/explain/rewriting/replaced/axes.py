"""Layout: transpositions changed, moved, missing; heads that are split or merged otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.edit import (
    CHANGE,
    SLIP,
    UNLIKELY,
    WRAP,
    Draft,
    Replacement,
    exchange,
    wrap,
)
from grader.explain.rewriting.program.setting import (
    Setting,
    argument_of,
    callee,
    integer,
    is_second_name,
)
from grader.explain.rewriting.program.value_kinds import Nature

_TURNING = {"t", "transpose", "swapaxes", "swapdims", "movedim", "moveaxis"}
_SHAPING = {"view", "reshape", "unflatten", "flatten"}
_PAIRS = (("-2", "-1"), ("1", "2"), ("-3", "-2"), ("-3", "-1"), ("0", "1"), ("2", "3"))
_FLATTENED = ((-2,), (-2, -1), (-3, -2), (0, 1), (1, 2), (2,), (1,))
_MISSING = (("1", "2"), ("-3", "-2"), ("-2", "-1"))


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


def flattened(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields other axes that a `flatten` makes one of."""
    axes = tuple(map(integer, node.args))
    if callee(node) != "flatten" or not axes or None in axes:
        return
    program = setting.program
    start, end = program.outer_span(node.args[0]).start, program.outer_span(node.args[-1]).end
    for order in _FLATTENED:
        if order != axes:
            piece = Replacement(start, end, ", ".join(map(str, order)))
            subject = "which axes a `flatten` makes one of"
            yield Draft("flattened-axes", CHANGE, subject, node, (piece,), start, order)


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


def transposed(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a transposition where one may be missing."""
    parent = setting.parent(node)
    nature = setting.scopes.nature(node)
    # The operand of an `@` is a tensor, whatever its name.
    multiplied = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.MatMult)
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    if not (nature.is_tensor or (multiplied and nature is Nature.OTHER)):
        return
    subject = "a transposition that is missing"
    if multiplied or (isinstance(parent, ast.Call) and callee(parent) in ("matmul", "bmm", "mm")):
        text = "T" if nature is Nature.WEIGHT else "mT"
        is_second = not isinstance(parent, ast.BinOp) or node is parent.right
        cost = SLIP if is_second else CHANGE
        yield _wrapped(setting, node, f".{text}", cost, subject)
    is_stored = isinstance(parent, (ast.Assign, ast.Return)) and parent.value is node
    is_built = isinstance(node, (ast.Call, ast.Subscript, ast.Name))
    is_shaped = callee(node) in (*_SHAPING, "rearrange")
    is_passed = isinstance(parent, ast.Call) and node in parent.args
    is_named = isinstance(parent, ast.keyword) and isinstance(node, (ast.Name, ast.Subscript))
    if is_shaped:
        for pair in _MISSING:
            yield _wrapped(setting, node, f".transpose({', '.join(pair)})", CHANGE, subject)
    elif is_stored and nature is Nature.WEIGHT and isinstance(node, ast.Name):
        yield _wrapped(setting, node, ".T", SLIP + 0.25, subject)
    elif is_stored and is_built:
        for pair in (*_MISSING, ("0", "1")):
            text = f".transpose({', '.join(pair)})"
            cost = CHANGE if is_second_name(setting, node) else WRAP
            yield _wrapped(setting, node, text, cost, subject)
    elif is_passed and isinstance(node, ast.Name) and nature is not Nature.TENSOR:
        yield _wrapped(setting, node, ".T", WRAP, subject)
    elif is_named and nature is not Nature.MASK:
        yield _wrapped(setting, node, ".mT", WRAP, subject)


def shaped_after_turning(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a transposition before a tensor is reshaped."""
    parent = setting.parent(node)
    if not (isinstance(parent, ast.Attribute) and parent.attr in (*_SHAPING, "contiguous")):
        return
    if not isinstance(setting.parent(parent), ast.Call):
        return
    subject = "a transposition that is missing"
    end = ".contiguous()" if parent.attr == "view" else ""
    for pair in _MISSING:
        text = f".transpose({', '.join(pair)}){end}"
        yield _wrapped(setting, node, text, CHANGE, subject)


def split(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Heads split in another order, then brought into place; or so that they are in place."""
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


def _wrapped(setting: Setting, node: ast.expr, after: str, cost: float, subject: str) -> Draft:
    alike = (type(node).__name__, callee(node))
    if isinstance(node, ast.Name):
        given = argument_of(setting, node)
        alike = (type(node).__name__, callee(given[0]) if given else "")
    return wrap(
        setting.program, node, "", after, "transposition", min(cost, UNLIKELY), subject, alike
    )
