"""Rewrite rules for calls: another function, no call, fewer options, another order."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from grader.explain.rewriting.edit import (
    CHANGE,
    SLIP,
    WRAP,
    Draft,
    Replacement,
    exchange,
    keep,
    without,
)
from grader.explain.rewriting.ingredients import unused
from grader.explain.rewriting.program.setting import AXES, Setting, is_module
from grader.explain.rewriting.program.source import LIBRARIES, callee
from grader.explain.rewriting.program.vocabulary import kinship

# Functions of one group are easily confused; commas stand between the groups.
_SIBLINGS = """
    sin cos, sinh tanh sigmoid, tril triu, softmax log_softmax, sqrt rsqrt square, mean sum,
    sum amax, sum logsumexp, max min, amax amin, var std, floor ceil, cat stack, concat stack,
    repeat repeat_interleave, repeat tile, zeros ones, zeros arange, ones arange, sqrt log,
    zeros_like ones_like, empty_like zeros_like, rand randn, rand_like randn_like, matmul mul,
    bmm mul, add sub, mul div, exp log, exp2 exp, log log2 log10, relu gelu silu,
    logical_and logical_or, argmax argmin, lt le, gt ge, eq ne, range len, isnan isinf,
    transpose reshape, expand repeat, view transpose, view reshape,
    float double half bfloat16 long, neg abs reciprocal, add_ copy_, normal_ uniform_,
    mul_ copy_, add_ sub_, mul add sub div, squeeze unsqueeze, chunk split, outer mul,
    sum prod cumsum, all any, ge lt, gt le, lt gt, le ge, minimum maximum, less less_equal,
    greater greater_equal, less greater, less_equal greater_equal, less greater_equal,
    greater less_equal, equal not_equal, multiply divide, add subtract multiply divide,
    matmul multiply, concatenate stack, row_stack column_stack, hstack vstack dstack,
    fliplr flipud, arcsin arccos, append extend
"""
_OTHERS: dict[str, tuple[str, ...]] = {}
for _group in map(str.split, _SIBLINGS.split(",")):
    for _name in _group:
        known = _OTHERS.get(_name, ())
        _OTHERS[_name] = (*known, *(o for o in _group if o != _name and o not in known))


def siblings(name: str) -> tuple[str, ...]:
    """Returns the functions that are easily confused with a function.

    For an in-place function, they include in-place ones and the function without `_`.
    """
    bare = name.removesuffix("_")
    if bare == name or name.startswith("__"):
        return _OTHERS.get(name, ())
    in_place = (f"{one}_" for one in _OTHERS.get(bare, ()))
    return (bare, *_OTHERS.get(name, ()), *in_place)


_KEPT_WHOLE = {"float", "int", "range", "len", "super", "isinstance", "zip", "enumerate", "print"}
# Only adapters call adapters.
_ADAPTER = "run_"


def functions(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields a call of a function that is easily confused with the called one, or of the file."""
    name = callee(node)
    if not name:
        return
    end = setting.span(node.func).end
    place = Replacement(end - len(name), end, "")
    subject = f"the call of `{name}`"
    others = {other: SLIP for other in siblings(name)}
    if isinstance(setting.parent(node), ast.Expr) and isinstance(node.func, ast.Attribute):
        others[f"{name.removesuffix('_')}_"] = SLIP
    for other, cost in {**_of_file(setting, node), **others}.items():
        piece = Replacement(place.start, place.end, other)
        yield Draft("function", cost, subject, node, (piece,), place.start)


def _of_file(setting: Setting, node: ast.Call) -> dict[str, float]:
    """Returns functions and methods of the file that take as many arguments, with their costs."""
    match node.func:
        case ast.Name(id=name):
            known = setting.index.top
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            known = setting.index.methods(node)
            if name not in known:
                return _attributes_like(setting, node, name)
        case ast.Attribute(value=ast.Name(id=module), attr=name) if module not in LIBRARIES:
            known = setting.index.functions
        case _:
            return {}
    if name not in known:
        return {}
    given = len(node.args) + len(node.keywords)
    around = getattr(setting.scope(node), "name", None)
    fitting = [
        other
        for other, signature in known.items()
        if other not in (name, around)
        and signature.takes(given)
        and not other.startswith("__")
        and other.startswith(_ADAPTER) <= name.startswith(_ADAPTER)
    ]
    fitting.sort(key=lambda other: -kinship(name, other))
    return {other: SLIP if kinship(name, other) == 2 else WRAP for other in fitting[:4]}


def _attributes_like(setting: Setting, node: ast.Call, name: str) -> dict[str, float]:
    """Returns related layers of the class, and those that are never called, for a called one."""
    names = setting.scopes.names(node)
    attributes = [one.removeprefix("self.") for one in names if one.startswith("self.")]
    idle = [one.removeprefix("self.") for one in setting.scopes.idle_layers(node)]
    alike = {one: SLIP for one in attributes if one != name and kinship(one, name) == 2}
    return dict.fromkeys(idle, CHANGE) | alike


def dropped(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields an argument, or the object of a method, in the place of a call."""
    name = callee(node)
    if not name or name[:1].isupper():
        return
    if isinstance(node.func, ast.Name) and name in _KEPT_WHOLE:
        return
    subject = f"a call of `{name}` that may not belong there"
    options: list[ast.expr] = [one for one in node.args[:2] if not isinstance(one, ast.Constant)]
    is_method = isinstance(node.func, ast.Attribute) and not is_module(node.func.value)
    if isinstance(node.func, ast.Attribute) and is_method:
        options = [node.func.value]
        if isinstance(node.func.value, ast.Name) and node.func.value.id == "self":
            options = node.args[:1]
        match node.func.value:
            case ast.Call(func=ast.Attribute(value=kept, attr=twice)) if twice == name:
                yield keep(setting, node, kept, "call-dropped", CHANGE, subject)
    for place, kept in enumerate(options):
        if not isinstance(kept, ast.Starred):
            cost = CHANGE if place == 0 else WRAP
            yield keep(setting, node, kept, "call-dropped", cost, subject)


def options(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields a call with an option dropped."""
    name = callee(node)
    for keyword in node.keywords:
        if keyword.arg:
            piece = without(setting, [*node.args, *node.keywords], keyword)
            subject = f"an option of `{name}`"
            at = setting.span(keyword).start
            yield Draft("option-dropped", CHANGE, subject, node, (piece,), at)
    known = setting.index.top.get(name) or setting.index.methods(node).get(name)
    takes_fewer = known is not None and known.takes(len(node.args) - 1)
    if len(node.args) > 1 and (takes_fewer or name in (*AXES, "tril", "triu")):
        last = node.args[-1]
        piece = without(setting, [*node.args, *node.keywords], last)
        at = setting.span(last).start
        subject = f"an option of `{name}`"
        yield Draft("option-dropped", CHANGE, subject, node, (piece,), at)


_MANY = 4
# Values that are returned or unpacked in the wrong order are a little likelier.
_SWAPPED = SLIP + 0.25


def arguments(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields swapped arguments of a call; keyword arguments swap values among themselves."""
    name = callee(node)
    subject = f"the order of the arguments of `{name}`" if name else "the order of arguments"
    values = [keyword.value for keyword in node.keywords if keyword.arg]
    for parts in (node.args, values):
        yield from _reordered(setting, node, parts, "arguments", _SWAPPED, subject)
    if len(node.args) == len(values) == 1:
        yield from _reordered(setting, node, [*node.args, *values], "arguments", _SWAPPED, subject)


def elements(setting: Setting, node: ast.Tuple | ast.List) -> Iterator[Draft]:
    """Yields swapped elements of a tuple or a list, and a further one that nothing reads."""
    is_target = isinstance(node.ctx, ast.Store)
    subject = "the order in which values are unpacked" if is_target else "the order of values"
    yield from _reordered(setting, node, node.elts, "elements", SLIP, subject)
    for name, nature in unused(setting, node) if node.elts and not is_target else ():
        if nature is setting.scopes.nature(node.elts[-1]):
            end = setting.outer_span(node.elts[-1]).end
            piece = Replacement(end, end, f", {name}")
            subject = f"`{name}`, which is never used"
            yield Draft("forgotten", CHANGE, subject, node, (piece,), end)


def _reordered(
    setting: Setting,
    node: ast.AST,
    parts: Sequence[ast.expr | ast.arg],
    kind: str,
    cost: float,
    subject: str,
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
        yield exchange(setting, node, parts, order, kind, cost if near else CHANGE, subject)
    for first in range(count - 2) if count <= _MANY else ():
        places = range(first, first + 3)
        if len({texts[place] for place in places}) == 3 and not any(fixed[p] for p in places):
            for one, second, third in ((1, 2, 0), (2, 0, 1)):
                turned = list(range(count))
                turned[first : first + 3] = first + one, first + second, first + third
                yield exchange(setting, node, parts, turned, kind, WRAP, subject)
