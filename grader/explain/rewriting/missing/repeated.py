"""Rewrite rules for operations on one of several like things, and for one object in many places."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from grader.explain.rewriting.edit import (
    CHANGE,
    SLIP,
    WRAP,
    Draft,
    Replacement,
    exchange,
    put,
    wrap,
)
from grader.explain.rewriting.program.name_similarity import comes_first, kinship
from grader.explain.rewriting.program.setting import Setting, callee
from grader.explain.rewriting.program.value_kinds import Nature
from grader.explain.rewriting.replaced.statements import block_after

_SUBJECT = "that there is only one of what stands in a list"


def repeated(setting: Setting, node: ast.BinOp) -> Iterator[Draft]:
    """Yields `[Layer() for _ in range(n)]` for `[Layer()] * n`."""
    match node:
        case ast.BinOp(left=ast.List(elts=[ast.Call() as one]), op=ast.Mult(), right=count):
            made, cost = setting.program.text(one), SLIP
        case ast.BinOp(left=ast.List(elts=[ast.Name() as one]), op=ast.Mult(), right=count):
            made, cost = f"{_deepcopy(setting, node)}({one.id})", CHANGE
        case _:
            return
    text = f"[{made} for _ in range({setting.program.text(count)})]"
    yield put(setting.program, node, text, "copies", cost, _SUBJECT)


def made_once(setting: Setting, node: ast.ListComp | ast.GeneratorExp) -> Iterator[Draft]:
    """Yields `[deepcopy(layer) for _ in range(n)]` for `[layer for _ in range(n)]`."""
    bound = {
        one.id
        for clause in node.generators
        for one in ast.walk(clause.target)
        if isinstance(one, ast.Name)
    }
    if isinstance(node.elt, ast.Name) and node.elt.id not in bound:
        before = f"{_deepcopy(setting, node)}("
        yield wrap(setting.program, node.elt, before, ")", "copies", SLIP, _SUBJECT, loose=True)


def tied(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields `self.key = Layer(n)` for `self.key = self.query`, which was made so."""
    match node:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"))], value=ast.Attribute()):
            own = setting.program.text(node.value)
        case _:
            return
    for one in ast.walk(setting.program.scope(node)):
        if (
            isinstance(one, ast.Assign)
            and isinstance(one.value, ast.Call)
            and own in map(setting.program.text, one.targets)
        ):
            text = setting.program.text(one.value)
            subject = "that there is only one of what two names stand for"
            yield put(setting.program, node.value, text, "copies", SLIP, subject)


def _deepcopy(setting: Setting, node: ast.expr) -> str:
    visible = setting.seen.visible(node)
    if "deepcopy" in visible:
        return "deepcopy"
    return "copy.deepcopy" if "copy" in visible else '__import__("copy").deepcopy'


_MOST = 3
_MOST_NAMES = 6


def elements(setting: Setting, node: ast.Tuple | ast.List) -> Iterator[Draft]:
    """Yields the call that an element's neighbour is wrapped in."""
    program = setting.program
    for one in node.elts:
        for other in node.elts:
            if (
                isinstance(one, ast.Call)
                and len(one.args) > 0
                and isinstance(other, (ast.Name, ast.Attribute))
            ):
                inner, span = program.span(one.args[0]), program.span(one)
                before = program.source[span.start : inner.start]
                after = program.source[inner.end : span.end]
                if "\n" in before or "\n" in after:
                    continue
                place = program.outer_span(other)
                text = f"{before}{program.outer_text(other)}{after}"
                piece = Replacement(place.start, place.end, text)
                subject = f"a call of `{callee(one)}` that is missing"
                yield Draft("call", CHANGE, subject, node, (piece,), place.start)


def all_alike(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields `f(q, k, v)` for `f(q, q, q)`."""
    held = [one for one in node.args if isinstance(one, ast.Name)]
    same = [one for one in held if one.id == held[0].id]
    if len(same) < 3 or node.args[: len(same)] != same:
        return
    own, names = same[0].id, setting.scopes.names(node)
    kin = [one for one in names.natures if one != own and names.kin(own, one) == 2]
    others = [one for one in kin if names.first.get(one, 0) < node.lineno][: len(same) - 1]
    if len(others) < len(same) - 1:
        return
    spans = [setting.program.span(one) for one in same[1:]]
    pieces = tuple(
        Replacement(span.start, span.end, other) for span, other in zip(spans, others, strict=True)
    )
    subject = f"that `{callee(node)}` is given `{own}` throughout"
    yield Draft("names", CHANGE, subject, node, pieces, setting.program.span(same[0]).start)


def assignments(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields `k = f(k)` beside `q = f(q)`, on the same line."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) if node.lineno == node.end_lineno:
            pass
        case _:
            return
    program = setting.program
    word = re.compile(rf"\b{re.escape(name)}\b")
    value = program.text(node.value)
    if not word.search(value) or isinstance(node.value, ast.Name):
        return
    names = setting.scopes.names(node)
    kin = [
        other
        for other in names.natures
        if other != name
        and kinship(name, other) == 2
        and names.first.get(other, 0) > 0
        and names.first[other] < node.lineno
    ]
    following = block_after(program, node)
    next_text = "" if following is None else program.text(following)
    span = program.span(node)
    for other in kin[:_MOST]:
        again = f"{other} = {word.sub(other, value)}"
        if again != next_text:
            first = comes_first(other, name)
            place, text = (span.start, f"{again}; ") if first else (span.end, f"; {again}")
            piece = Replacement(place, place, text)
            subject = f"what is done to `{name}` alone"
            yield Draft("repeated", CHANGE, subject, node, (piece,), span.start)


def parts_exchanged(setting: Setting, node: ast.Call | ast.Tuple) -> Iterator[Draft]:
    """Names of a kin that take each other's places in one argument, or one of several values."""
    for part in node.args if isinstance(node, ast.Call) else node.elts:
        if isinstance(part, ast.BinOp):
            yield from _exchanged_within(setting, node, part)


def terms_exchanged(setting: Setting, node: ast.BinOp) -> Iterator[Draft]:
    """Names of a kin that take each other's places in one term of a sum."""
    if isinstance(node.op, (ast.Add, ast.Sub)):
        for part in (node.left, node.right):
            if isinstance(part, ast.BinOp):
                yield from _exchanged_within(setting, node, part)


def overwritten(setting: Setting, node: ast.Subscript) -> Iterator[Draft]:
    """Yields a name in place of a part that the last statement wrote: `a` for `y[..., 0]`."""
    home = setting.program.home(node)
    match node, home.statement:
        case (
            ast.Subscript(value=ast.Name(id=name), ctx=ast.Load()),
            ast.Assign(targets=[ast.Subscript(value=ast.Name(id=written))]) as statement,
        ) if name == written:
            place = setting.program.home(statement)
        case _:
            return
    block = getattr(place.parent, place.field)
    before = block[max(0, (place.index or 0) - _MOST) : place.index or 0]
    used = {
        one.id: None
        for other in before
        if isinstance(other, ast.Assign) and isinstance(other.targets[0], ast.Subscript)
        for one in ast.walk(other.value)
        if isinstance(one, ast.Name)
    }
    for other_name in [one for one in used if one != name][:_MOST_NAMES]:
        subject = f"what of `{name}` is written already"
        yield put(setting.program, node, other_name, "overwritten", SLIP, subject)


def _exchanged_within(setting: Setting, node: ast.expr, part: ast.expr) -> Iterator[Draft]:
    program, names = setting.program, setting.scopes.names(node)
    places: dict[str, list[ast.Name]] = {}
    for one in program.parts(part):
        if isinstance(one, ast.Name):
            places.setdefault(one.id, []).append(one)
    for first, second in itertools.combinations(places, 2):
        if names.kin(first, second) == 2:
            pieces = sorted(
                Replacement(span.start, span.end, new)
                for old, new in ((first, second), (second, first))
                for span in map(program.span, places[old])
            )
            subject = f"where `{first}` and `{second}` are used"
            yield Draft("names", SLIP, subject, node, tuple(pieces), pieces[0].start)


def receivers_exchanged(setting: Setting, node: ast.Return) -> Iterator[Draft]:
    """Yields `turned.to(x.dtype)` for `x.to(turned.dtype)`."""
    match node.value:
        case ast.Call(
            func=ast.Attribute(value=ast.Name() as one),
            args=[ast.Attribute(value=ast.Name() as other) | (ast.Name() as other)],
        ) if one.id != other.id and setting.scopes.nature(one).is_tensor:
            subject = f"which of `{one.id}` and `{other.id}` is returned"
            parts = (one, other)
            yield exchange(setting.program, node, parts, (1, 0), "names", SLIP, subject)
        case _:
            pass


def names_exchanged(setting: Setting, node: ast.stmt) -> Iterator[Draft]:
    """Yields two names of a kin that take each other's places in a whole statement."""
    if not isinstance(node, (ast.Assign, ast.Return, ast.AugAssign)) or node.value is None:
        return
    program = setting.program
    names = setting.scopes.names(node)
    loops = set(setting.seen.loops(node))
    places: dict[str, list[ast.Name]] = {}
    for one in program.parts(node.value):
        if isinstance(one, ast.Name):
            places.setdefault(one.id, []).append(one)
    known = list(places)
    for place, first in enumerate(known):
        for second in known[place + 1 :]:
            are_flags = names.natures.get(first) is names.natures.get(second) is Nature.FLAG
            if names.kin(first, second) != 2 and not are_flags and not {first, second} <= loops:
                continue
            pieces = sorted(
                Replacement(span.start, span.end, new)
                for old, new in ((first, second), (second, first))
                for span in map(program.span, places[old])
            )
            if len(pieces) > 1:
                subject = f"where `{first}` and `{second}` are used"
                cost = SLIP if len(pieces) == 2 else CHANGE
                at = pieces[0].start
                yield Draft("names", min(cost, WRAP), subject, node, tuple(pieces), at)
