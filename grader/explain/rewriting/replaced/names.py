"""Other names: another variable or attribute, two like things exchanged."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

from grader.explain.rewriting.edit import (
    CHANGE,
    SLIP,
    UNLIKELY,
    WRAP,
    Draft,
    Replacement,
    put,
)
from grader.explain.rewriting.program.elsewhere import LIBRARIES
from grader.explain.rewriting.program.setting import Setting, callee, is_axis
from grader.explain.rewriting.program.source import Scope
from grader.explain.rewriting.program.value_kinds import AXIS_KEYWORDS
from grader.explain.rewriting.program.vocabulary import Nature, kinship, nature_of_name, words

_MOST = 8
_MOST_FOR_CONSTANTS = 4
_LIKE = {
    Nature.TENSOR: {Nature.TENSOR, Nature.MASK, Nature.WEIGHT},
    Nature.WEIGHT: {Nature.WEIGHT, Nature.TENSOR},
    Nature.MASK: {Nature.MASK, Nature.TENSOR},
    Nature.SIZE: {Nature.SIZE, Nature.NUMBER},
    Nature.NUMBER: {Nature.NUMBER, Nature.SIZE},
    Nature.FLAG: {Nature.FLAG},
    Nature.SHAPE: {Nature.SHAPE},
}


def variables(setting: Setting, node: ast.Name | ast.Attribute) -> Iterator[Draft]:
    """Yields another variable or attribute in the place of one."""
    if _is_called_or_stored(setting, node):
        return
    own = setting.program.text(node)
    subject = f"where `{own}` is used"
    for cost, name in _alternatives(setting, node, own):
        yield put(setting.program, node, name, "name", cost, subject, own)


def instead_of_constants(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a variable in the place of a number or a flag that is written out."""
    names = setting.scopes.names(node)
    nature = setting.scopes.nature(node)
    if nature not in (Nature.SIZE, Nature.NUMBER, Nature.FLAG):
        return
    parent = setting.parent(node)
    if isinstance(parent, (ast.UnaryOp, ast.Slice, ast.Assign)):
        return
    axis, axes = is_axis(setting, node), _axes(setting.program.scope(node))
    wanted = {nature} if nature is Nature.FLAG else {Nature.SIZE, Nature.NUMBER}
    found = []
    for name, other in names.natures.items():
        first = names.first.get(name, 0)
        named_axis = words(name)[-1:] in (("dim",), ("axis",)) or name in axes
        if other not in wanted or first >= node.lineno or axis is not named_axis:
            continue
        cost = CHANGE if named_axis or not names.read.get(name) or other is nature else WRAP
        found.append((cost, -first, name))
    own = setting.program.text(node)
    for cost, _, name in sorted(found)[:_MOST_FOR_CONSTANTS]:
        subject = "a value that is written out"
        yield put(setting.program, node, name, "name", cost, subject, ("constant", own))


def _is_called_or_stored(setting: Setting, node: ast.Name | ast.Attribute) -> bool:
    if not isinstance(node.ctx, ast.Load):
        return True
    parent = setting.parent(node)
    if isinstance(node, ast.Attribute):
        if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
            return True
    elif node.id in ("self", "cls", "torch", "math", "F", "nn", "np", "einops"):
        return True
    return isinstance(parent, ast.Call) and node is parent.func


def _alternatives(setting: Setting, node: ast.expr, own: str) -> list[tuple[float, str]]:
    """Costs and names of the likeliest other variables."""
    names = setting.scopes.names(node)
    nature = names.natures.get(own) or _of_constant(own)
    if nature is None:
        return []
    like = _LIKE.get(nature, set())
    in_function = isinstance(setting.program.scope(node), (ast.FunctionDef, ast.AsyncFunctionDef))
    tensors = [one for one in setting.seen.variables(node) if one.nature is Nature.TENSOR]
    latest = max(tensors, key=lambda one: one.first).name if tensors else None
    beside = _subscripted_beside(setting, node)
    ancestors = names.ancestors(own)
    found = []
    for place, (name, other) in enumerate(names.natures.items()):
        if name == own or other is Nature.FUNCTION:
            continue
        if in_function and names.first.get(name, 0) >= node.lineno:
            continue
        kin = names.kin(own, name)
        unread = name in names.own and not names.read.get(name)
        if kin == 0 and other not in like and not unread:
            continue
        cost = (UNLIKELY, WRAP, SLIP)[kin]
        if unread:
            cost = min(cost, CHANGE)
        if kin == 0 and other is nature and nature is not Nature.TENSOR:
            cost = WRAP
        if kin == 2 and nature is Nature.SIZE and (other is not nature or not kinship(own, name)):
            cost = CHANGE
        if other in like and own in names.made_of.get(name, ()):
            cost = min(cost, CHANGE)
        elif other in like and name in ancestors:
            cost = min(cost, WRAP)
        if name == latest and nature is other is Nature.TENSOR:
            cost = min(cost, CHANGE)
        if name in beside:
            cost = min(cost, WRAP)
        found.append((cost, -names.first.get(name, 0), place, name))
    return [(cost, name) for cost, _, _, name in sorted(found)[:_MOST]]


@functools.lru_cache(maxsize=8)
def _axes(scope: Scope) -> frozenset[str]:
    """Returns the variables that a scope's calls are given as an axis, by keyword."""
    return frozenset(
        node.value.id
        for node in ast.walk(scope)
        if isinstance(node, ast.keyword)
        and node.arg in AXIS_KEYWORDS
        and isinstance(node.value, ast.Name)
    )


def _of_constant(name: str) -> Nature | None:
    """Returns the nature of a name in capitals, wherever it is set, or None."""
    return Nature.NUMBER if name.isupper() and len(name) > 1 else None


def _subscripted_beside(setting: Setting, node: ast.expr) -> set[str]:
    """Returns the other variables of the statement that have an index."""
    parent = setting.parent(node)
    if not (isinstance(parent, ast.Subscript) and node is parent.value):
        return set()
    statement = setting.program.home(node).statement
    return {
        one.value.id
        for one in ast.walk(statement)
        if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name)
    }


_MOST_KIN = 3


def renamed(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields another name of a kin throughout a statement: `k = turn(k)` for `v = turn(v)`."""
    program = setting.program
    targets = {
        one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)
    }
    text = program.text(node)
    span = program.span(node)
    if "\n" in text:
        return
    names = setting.scopes.names(node)
    for name in sorted(targets):
        uses = len(re.findall(rf"\b{name}\b", text))
        others = [
            one
            for one in names.natures
            if kinship(name, one) == 2 and one != name and one not in targets
        ]
        for other in others[:_MOST_KIN] if uses > 1 else ():
            new = re.sub(rf"(?<!\.)\b{name}\b", other, text)
            piece = Replacement(span.start, span.end, new)
            subject = f"where `{name}` is used"
            yield Draft("name", CHANGE, subject, node, (piece,), span.start)


_MOST_MEMBERS = 8
_PARTS = {"real": ("imag",), "imag": ("real",)}
_OF_TENSORS = frozenset(
    {"shape", "dtype", "device", "T", "mT", "real", "imag", "values", "indices", "grad", "data"}
)


def attributes(setting: Setting, node: ast.Attribute) -> Iterator[Draft]:
    """Yields another attribute of the same object that the function reads."""
    if not isinstance(node.ctx, ast.Load) or not _is_object(node.value):
        return
    parent = setting.parent(node)
    if isinstance(parent, ast.Call) and node is parent.func and not _is_self(node.value):
        return
    end = setting.program.span(node).end
    own, holder = setting.program.text(node), setting.program.text(node.value)
    here = setting.seen.attributes.get((setting.program.scope(node), holder), [])
    others = [one for one in (*_PARTS.get(node.attr, ()), *here) if one != node.attr]
    for other in list(dict.fromkeys(others))[:_MOST_MEMBERS]:
        is_like = nature_of_name(node.attr) is nature_of_name(other) is not None
        cost = SLIP if kinship(node.attr, other) == 2 or is_like else WRAP
        piece = Replacement(end - len(node.attr), end, other)
        subject = f"where `{own}` is used"
        yield Draft("attribute", cost, subject, node, (piece,), end - len(node.attr), (own, other))


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
        if kinship(name, one.name) or set(words(name)) & set(words(one.name)):
            subject = f"of what `{node.attr}` is read"
            yield put(setting.program, node.value, one.name, "instance", SLIP, subject)
