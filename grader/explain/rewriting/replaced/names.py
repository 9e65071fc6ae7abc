"""Rewrite rules for names: another variable or attribute, and swapped indices."""

from __future__ import annotations

import ast
import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP, Draft, Replacement, put
from grader.explain.rewriting.ingredients import alternatives
from grader.explain.rewriting.program.setting import Setting, is_axis
from grader.explain.rewriting.program.source import LIBRARIES, Function, Scope, callee
from grader.explain.rewriting.program.vocabulary import Nature, kinship, nature_of_name, words

_MOST_FOR_CONSTANTS = 4


def variables(setting: Setting, node: ast.Name | ast.Attribute) -> Iterator[Draft]:
    """Yields another variable or attribute in the place of one."""
    if _is_called_or_stored(setting, node):
        return
    own = setting.text(node)
    subject = f"the use of `{own}`"
    nature = setting.scopes.names(node).nature(own)
    if nature is None and own.isupper() and len(own) > 1:
        nature = Nature.NUMBER  # may be set in another file
    found = [] if nature is None else alternatives(setting, node, own, nature)
    for cost, name in found:
        yield put(setting, node, name, "name", cost, subject)


def instead_of_constants(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields variables in the place of a literal number or flag."""
    nature = setting.scopes.nature(node)
    if nature not in (Nature.SIZE, Nature.NUMBER, Nature.FLAG):
        return
    parent = setting.parent(node)
    if isinstance(parent, (ast.UnaryOp, ast.Slice, ast.Assign)):
        return
    axis, axes = is_axis(setting, node), _axes(setting).get(setting.scope(node), ())
    wanted = {nature} if nature is Nature.FLAG else {Nature.SIZE, Nature.NUMBER}
    # A parameter counts as a tensor if nothing tells its nature.
    is_in_function = isinstance(setting.scope(node), Function)
    unread = wanted | {Nature.TENSOR} if nature.is_number and is_in_function else wanted
    found = []
    visible = setting.scopes.visible(node)
    for one in setting.scopes.names(node).before(node.lineno):
        if one.is_inner and one.name not in visible:
            continue
        named_axis = words(one.name)[-1:] in (("dim",), ("axis",)) or one.name in axes
        is_like = one.nature in (unread if one.is_own and not one.reads else wanted)
        if axis is named_axis and (axis or is_like):
            cost = CHANGE if named_axis or not one.reads or one.nature is nature else WRAP
            found.append((cost, -one.first, one.name))
    for cost, _, name in sorted(found)[:_MOST_FOR_CONSTANTS]:
        yield put(setting, node, name, "name", cost, "a hard-coded value")


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


@functools.lru_cache(maxsize=1)
def _axes(setting: Setting) -> Mapping[Scope, set[str]]:
    """Returns the variables that each function uses as numbers of axes."""
    found: dict[Scope, set[str]] = defaultdict(set)
    for one in setting.nodes:
        if isinstance(one, ast.Name | ast.Attribute) and is_axis(setting, one):
            found[setting.scope(one)].add(setting.text(one))
    return found


_MOST_MEMBERS = 8
_PARTS = {"real": "imag", "imag": "real"}
_OF_TENSORS = frozenset(
    {"shape", "dtype", "device", "T", "mT", "real", "imag", "values", "indices", "grad", "data"}
)


def attributes(setting: Setting, node: ast.Attribute) -> Iterator[Draft]:
    """Yields another attribute of the same object, declared by its class or read elsewhere."""
    if not isinstance(node.ctx, ast.Load) or not _is_object(node.value):
        return
    parent = setting.parent(node)
    is_called = isinstance(parent, ast.Call) and node is parent.func
    if is_called and setting.text(node.value) != "self":
        return
    end = setting.span(node).end
    own = setting.text(node)
    for cost, other in _others(setting, node):
        piece = Replacement(end - len(node.attr), end, other)
        subject = f"the use of `{own}`"
        yield Draft("attribute", cost, subject, node, (piece,), end - len(node.attr))


def _others(setting: Setting, node: ast.Attribute) -> list[tuple[float, str]]:
    holder = setting.text(node.value)
    here = setting.index.read_of.get((setting.scope(node), holder), [])
    found: dict[str, float] = {}
    if node.attr in _PARTS:
        found[_PARTS[node.attr]] = SLIP
    nature = nature_of_name(node.attr)
    registered = [one for one in setting.index.words if kinship(node.attr, one) == 2]
    for other in (*setting.index.beside(node.attr), *here, *registered):
        if other == node.attr or other.startswith("__"):
            continue
        kin = kinship(node.attr, other)
        cost = (WRAP, CHANGE, SLIP)[kin]
        if not kin and nature is not None and nature is not nature_of_name(other):
            cost = WRAP + 0.5
        is_like = other in here and nature is not None and nature is nature_of_name(other)
        if is_like or not setting.index.uses[other]:
            cost = min(cost, SLIP + 0.25)
        found.setdefault(other, cost)
    return sorted((cost, other) for other, cost in found.items())[:_MOST_MEMBERS]


def _is_object(node: ast.expr) -> bool:
    """Returns whether a node may be an object of the submission's own classes."""
    match node:
        case ast.Name(id=name):
            return name not in LIBRARIES
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return name not in LIBRARIES and attr not in _OF_TENSORS
        case ast.Call():
            return callee(node)[:1].isupper()
    return False
