"""Two changes that are one: sizes and a transposition, a function and its number, repetitions."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from grader.explain.rewriting.draft import CHANGE, Draft, put
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.setting import Setting, callee, integer

_SHAPING = frozenset({"view", "reshape", "unflatten"})
_TURNING = frozenset({"transpose", "swapaxes", "swapdims", "movedim", "t"})
_TURNED = frozenset({"T", "mT"})
_MOST_AXES = 4
# The other function, and what is added to its number; none if that has the other sign.
_MIRRORED = {
    "tril": ("triu", 0),
    "triu": ("tril", 0),
    "tril_": ("triu_", 0),
    "triu_": ("tril_", 0),
    "cat": ("stack", 1),
    "stack": ("cat", -1),
}


def turned(setting: Setting, node: ast.Call | ast.Attribute) -> Iterator[Draft]:
    """`x.view(a, b)` for `x.view(b, a).transpose(0, 1)`: no transposition, sizes exchanged."""
    match node:
        case ast.Attribute(value=ast.Call() as shaped, attr=attr) if attr in _TURNED:
            pass
        case ast.Call(func=ast.Attribute(value=ast.Call() as shaped, attr=attr)) if (
            attr in _TURNING
        ):
            pass
        case _:
            return
    if callee(shaped) not in _SHAPING:
        return
    program = setting.program
    end = Replacement(program.span(shaped).end, program.span(node).end, "")
    sizes = _sizes(shaped)
    for first, second in list(itertools.pairwise(sizes))[-_MOST_AXES + 1 :]:
        if isinstance(first, ast.Starred) or program.text(first) == program.text(second):
            continue
        spans = program.outer_span(first), program.outer_span(second)
        pieces = (
            Replacement(spans[0].start, spans[0].end, program.outer_text(second)),
            Replacement(spans[1].start, spans[1].end, program.outer_text(first)),
            end,
        )
        subject = f"how `{callee(shaped)}` splits an axis"
        yield Draft("split", CHANGE, subject, node, pieces, spans[0].start)


def reshaped(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """`x.transpose(1, 2)` for `x.reshape(x.size(0), x.size(2), x.size(1), -1)`."""
    if callee(node) not in ("view", "reshape") or not isinstance(node.func, ast.Attribute):
        return
    whole = setting.program.outer_text(node.func.value)
    axes = [_axis_of(setting, one, whole) for one in _sizes(node)]
    for first, second in itertools.combinations(range(len(axes)), 2):
        if (axes[first], axes[second]) == (second, first):
            text = f"{whole}.transpose({first}, {second})"
            subject = f"how `{callee(node)}` orders the axes"
            yield put(setting.program, node, text, "transposed-axes", CHANGE, subject)


def _axis_of(setting: Setting, node: ast.expr, whole: str) -> int | None:
    """The axis of a tensor of which a size is."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="size"), args=[axis]):
            pass
        case ast.Subscript(value=ast.Attribute(value=value, attr="shape"), slice=axis):
            pass
        case _:
            return None
    return integer(axis) if setting.program.outer_text(value) == whole else None


def repeated(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """The whole repeated in place of each element, and the other way round."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="repeat_interleave"), args=[times, *_]):
            text, times_text = setting.program.outer_text(value), setting.program.outer_text(times)
        case ast.Call(func=ast.Attribute(value=value, attr="repeat"), args=[_, *_]):
            yield from _one_by_one(setting, node, value)
            return
        case _:
            return
    subject = "the order in which things are repeated"
    axes = [integer(one.value) for one in node.keywords if one.arg == "dim"]
    axes += [integer(one) for one in node.args[1:2]]
    before = ["1"] * axes[0] if axes and axes[0] is not None and axes[0] > 0 else []
    for after in range(_MOST_AXES):
        counts = ", ".join([*before, times_text, *["1"] * after])
        yield put(setting.program, node, f"{text}.repeat({counts})", "repeat", CHANGE, subject)


def _one_by_one(setting: Setting, node: ast.Call, value: ast.expr) -> Iterator[Draft]:
    counts = [(place, one) for place, one in enumerate(node.args) if integer(one) != 1]
    if len(counts) == 1 and not isinstance(counts[0][1], ast.Starred):
        place, times = counts[0]
        program = setting.program
        text = (
            f"{program.outer_text(value)}.repeat_interleave({program.outer_text(times)}, {place})"
        )
        subject = "the order in which things are repeated"
        yield put(program, node, text, "repeat", CHANGE, subject)


def mirrored(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """`triu(1)` for `tril(-1)`; `stack(…, dim=1)` for `cat(…, dim=0)`."""
    name = callee(node)
    if name not in _MIRRORED:
        return
    other, change = _MIRRORED[name]
    axes = [one.value for one in node.keywords if one.arg in ("dim", "axis", "diagonal")]
    given = [*axes, *(one for one in node.args if integer(one) is not None)][:1]
    program = setting.program
    end = program.span(node.func).end
    renamed = Replacement(end - len(name), end, other)
    if not given and not change and node.args:
        place = program.outer_span(node.args[-1]).end
        beside = "-1" if other.startswith("tril") else "1"
        pieces = (renamed, Replacement(place, place, f", {beside}"))
        if callee(node.args[-1]) or isinstance(node.func, ast.Attribute):
            subject = f"the function that is called where it says `{name}`"
            yield Draft("mirrored", CHANGE, subject, node, pieces, renamed.start)
    for one in given:
        number, span = integer(one), program.span(one)
        if number is None or (change and number < 0):
            continue
        became = number + change if change else -number
        pieces = (renamed, Replacement(span.start, span.end, str(became)))
        subject = f"the function that is called where it says `{name}`"
        yield Draft("mirrored", CHANGE, subject, node, pieces, renamed.start)


def copies(setting: Setting, node: ast.BinOp) -> Iterator[Draft]:
    """All of a thing in place of its first entry, several times."""
    match node:
        case ast.BinOp(
            left=ast.List(elts=[ast.Subscript(value=whole)])
            | ast.Tuple(elts=[ast.Subscript(value=whole)]),
            op=ast.Mult(),
        ):
            text = setting.program.outer_text(whole)
            yield put(setting.program, node, text, "copies", CHANGE, "what is repeated")
        case _:
            pass


def _sizes(node: ast.Call) -> Sequence[ast.expr]:
    """The sizes that a call shapes something to, as far as they are written out."""
    given: Sequence[ast.expr] = node.args[1:] if callee(node) == "unflatten" else node.args
    if len(given) != 1:
        return given
    match given[0]:
        case ast.Tuple(elts=sizes) | ast.List(elts=sizes):
            return sizes
        case ast.BinOp(op=ast.Add(), right=ast.Tuple(elts=sizes)):
            return sizes
        case _:
            return ()
