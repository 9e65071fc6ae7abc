"""Members: another attribute of the same object, another entry of the same thing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.explain.rewriting.edit import (
    CHANGE,
    SLIP,
    WRAP,
    Draft,
    Replacement,
    instead,
    put,
)
from grader.explain.rewriting.program.elsewhere import LIBRARIES
from grader.explain.rewriting.program.setting import Setting, callee, with_axes
from grader.explain.rewriting.program.vocabulary import Nature, kinship, nature_of_name, words

_MOST = 8
_MOST_INDICES = 4
_PARTS = {"real": "imag", "imag": "real"}
_OF_TENSORS = frozenset(
    {"shape", "dtype", "device", "T", "mT", "real", "imag", "values", "indices", "grad", "data"}
)


def attributes(setting: Setting, node: ast.Attribute) -> Iterator[Draft]:
    """Yields another attribute of the same object, declared by its class or read elsewhere."""
    if not isinstance(node.ctx, ast.Load) or not _is_object(node.value):
        return
    parent = setting.parent(node)
    if isinstance(parent, ast.Call) and node is parent.func and not _is_self(node.value):
        return
    end = setting.program.span(node).end
    own = setting.program.text(node)
    for cost, other in _others(setting, node):
        piece = Replacement(end - len(node.attr), end, other)
        subject = f"where `{own}` is used"
        yield Draft("attribute", cost, subject, node, (piece,), end - len(node.attr), (own, other))


def _others(setting: Setting, node: ast.Attribute) -> list[tuple[float, str]]:
    holder = setting.program.text(node.value)
    here = setting.seen.attributes.get((setting.program.scope(node), holder), [])
    found: dict[str, float] = {}
    if node.attr in _PARTS:
        found[_PARTS[node.attr]] = SLIP
    nature = nature_of_name(node.attr)
    registered = [one for one in setting.signatures.words if kinship(node.attr, one) == 2]
    for other in (*setting.signatures.attributes(node.attr), *here, *registered):
        if other == node.attr or other.startswith("__"):
            continue
        kin = kinship(node.attr, other)
        cost = (WRAP, CHANGE, SLIP)[kin]
        if not kin and nature is not None and nature is not nature_of_name(other):
            cost = WRAP + 0.5
        is_like = other in here and nature is not None and nature is nature_of_name(other)
        if is_like or not setting.seen.uses(other):
            cost = min(cost, SLIP + 0.25)
        found.setdefault(other, cost)
    return sorted((cost, other) for other, cost in found.items())[:_MOST]


def entries(setting: Setting, node: ast.Subscript) -> Iterator[Draft]:
    """Yields drafts that index by a name in place of a number or a slice."""
    if not isinstance(node.ctx, ast.Load) or not isinstance(node.slice, (ast.Slice, ast.Constant)):
        return
    if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        return
    program = setting.program
    subject = f"an index of `{program.text(node.value)}`"
    own = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
    wanted = (Nature.TENSOR, Nature.OTHER) if isinstance(node.slice, ast.Slice) else (Nature.SIZE,)
    found = [
        one for one in setting.seen.variables(node) if one.name not in own and one.nature in wanted
    ]
    found.sort(key=lambda one: (not _is_position(one.name), one.is_read, -one.first))
    for one in found[:_MOST_INDICES]:
        cost = WRAP if one.is_read and not _is_position(one.name) else CHANGE
        piece = instead(program, node.slice, one.name)
        alike = ("index", program.text(node.slice), one.name)
        yield Draft("index", cost, subject, node, (piece,), piece.start, alike)
        whole = with_axes(setting, node)
        if whole is not node and _is_position(one.name):
            text = f"{program.text(node.value)}[{one.name}]"
            yield put(program, whole, text, "index", cost, subject)


def cut_out(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields the same of a `slice` that is made: `slice(h * n, (h + 1) * n)` for `slice(0, n)`."""
    if callee(node) != "slice" or not node.args or node.keywords:
        return
    program = setting.program
    start, end = program.outer_span(node.args[0]).start, program.outer_span(node.args[-1]).end
    widths = [
        program.text(one)
        for one in node.args
        if isinstance(one, ast.Name) and setting.scopes.nature(one) is Nature.SIZE
    ]
    sizes = [one.name for one in setting.seen.variables(node) if one.nature is Nature.SIZE]
    for name in setting.seen.loops(node):
        for width in [one for one in dict.fromkeys((*widths, *sizes)) if one != name][:_MOST]:
            text = f"{name} * {width}, ({name} + 1) * {width}"
            subject = "which part is taken"
            yield Draft("slice", CHANGE, subject, node, (Replacement(start, end, text),), start)


def _is_position(name: str) -> bool:
    return any(word in name for word in ("pos", "index", "idx", "ids"))


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _is_object(node: ast.expr) -> bool:
    """Returns whether a node may hold attributes of the submission's own."""
    match node:
        case ast.Name(id=name):
            return name not in LIBRARIES
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return name not in LIBRARIES and attr not in _OF_TENSORS
        case ast.Call():
            return callee(node)[:1].isupper()
        case _:
            return False


def of_instances(setting: Setting, node: ast.Attribute) -> Iterator[Draft]:
    """Yields `config.width` for `Config.width`: of an object, not of its class."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), ctx=ast.Load()) if name[:1].isupper():
            pass
        case _:
            return
    for one in setting.seen.variables(node):
        own = re.compile(rf"\b{one.name}\.(?!size|shape|dtype|device)")
        is_like = kinship(name, one.name) or set(words(name)) & set(words(one.name))
        if is_like or own.search(setting.program.source):
            subject = f"of what `{node.attr}` is read"
            yield put(setting.program, node.value, one.name, "instance", SLIP, subject)
