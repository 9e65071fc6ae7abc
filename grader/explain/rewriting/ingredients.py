"""The ingredients of rewrite rules: the variables and values that may be meant at a place."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.explain.rewriting.edit import CHANGE, SLIP, UNLIKELY, WRAP
from grader.explain.rewriting.program.index import Parameter
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.source import Function, names_in
from grader.explain.rewriting.program.vocabulary import Nature, nature_of_name

# The cost of a value, and its text.
Ingredient = tuple[float, str]
_MOST_ALTERNATIVES = 8
_MOST_NAMES = 6
_MOST_UNREAD = 3
_MOST_TENSORS, _MOST_OF_NATURE = 2, 3
_LIKE = {
    Nature.TENSOR: {Nature.TENSOR, Nature.MASK, Nature.WEIGHT},
    Nature.WEIGHT: {Nature.WEIGHT, Nature.TENSOR},
    Nature.MASK: {Nature.MASK, Nature.TENSOR},
    Nature.SIZE: {Nature.SIZE, Nature.NUMBER},
    Nature.NUMBER: {Nature.NUMBER, Nature.SIZE},
    Nature.FLAG: {Nature.FLAG},
    Nature.SHAPE: {Nature.SHAPE},
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A condition on a gap of a row: the natures or the names that its variable may have.

    `is_unread` requires a variable that nothing reads.
    """

    natures: frozenset[Nature] = frozenset()
    names: tuple[str, ...] = ()
    is_unread: bool = False


def alternatives(
    setting: Setting, node: ast.expr, own: str, nature: Nature | None
) -> list[Ingredient]:
    """Returns the variables that may be meant by a name, likeliest first.

    They are of a like nature, have a like name, or are never read.
    """
    names, visible = setting.scopes.names(node), setting.scopes.visible(node)
    like = set() if nature is None else _LIKE.get(nature, set())
    in_function = isinstance(setting.scope(node), Function)
    found = []
    for place, one in enumerate(names.before(node.lineno) if in_function else names.values()):
        kin = names.kin(own, one.name)
        is_unread = one.is_own and not one.reads
        is_hidden = one.is_inner and one.name not in visible
        if one.name == own or one.nature is Nature.FUNCTION or is_hidden:
            continue
        if kin or one.nature in like or is_unread:
            cost = (WRAP if one.nature is nature else UNLIKELY, WRAP, SLIP)[kin]
            cost = min(cost, CHANGE) if is_unread or one.is_inner else cost
            found.append((cost, -one.first, place, one.name))
    return [(cost, name) for cost, _, _, name in sorted(found)[:_MOST_ALTERNATIVES]]


def unused(setting: Setting, node: ast.AST) -> list[tuple[str, Nature]]:
    """Returns parameters, variables and attributes that are never read."""
    return list(itertools.islice(_unread(setting, node), _MOST_UNREAD))


def _unread(setting: Setting, node: ast.AST) -> Iterator[tuple[str, Nature]]:
    names, line = setting.scopes.names(node), getattr(node, "lineno", 0)
    visible = setting.scopes.visible(node)
    for one in names.before(line):
        is_value = one.is_attribute and one.nature is not Nature.FUNCTION
        is_bound = (one.is_own and one.first > 0) or (one.is_inner and one.name in visible)
        if not one.reads and (is_value or is_bound):
            yield one.name, one.nature
    around = setting.scope(setting.scope(node))
    while isinstance(around, Function):
        for one in setting.scopes.of(around).values():
            if one.is_own and not one.reads and not (one.name in names and names[one.name].is_own):
                yield one.name, one.nature
        around = setting.scope(around)


def values_of(setting: Setting, node: ast.Call, parameter: Parameter) -> Iterator[Ingredient]:
    """Yields the values that a parameter may take, each with its cost, likelier values first."""
    visible = setting.scopes.visible(node)
    name, default = parameter.name, parameter.default
    if name in visible:
        yield SLIP, name
    if default in ("True", "False"):
        yield SLIP + 0.25, str(default == "False")
    nature = nature_of_name(name)
    known = alternatives(setting, node, name, nature)[:_MOST_NAMES]
    yield from (one for one in known if one[0] < UNLIKELY)
    if name in setting.index.methods(node):
        for given in ("", *setting.scopes.tensors(node)[:_MOST_TENSORS]):
            yield CHANGE, f"self.{name}({given})"
    if default == "None" and nature is Nature.NUMBER:
        yield WRAP, "1.0"


def nearest(setting: Setting, node: ast.expr | ast.stmt, wanted: Wanted) -> Sequence[str]:
    """Returns variables for an ingredient: unread ones, some of a nature, or the first visible one.

    Tensors come from the expression, its sources and its statement, and include the function's
    first tensor. Variables of other natures come latest first.
    """
    own = set(names_in(node))
    if wanted.is_unread:
        unread = unused(setting, node)
        return [name for name, nature in unread if nature in wanted.natures and name not in own]
    if wanted.names:
        visible = setting.scopes.visible(node) | setting.scopes.names(node).keys()
        return [name for name in wanted.names if name in visible - own][:1]
    if wanted.natures != {Nature.TENSOR}:
        found = setting.scopes.names(node).before(node.lineno)
        found.sort(key=lambda one: -one.first)
        natures = wanted.natures
        fitting = [one.name for one in found if one.nature in natures and one.name not in own]
        return fitting[:_MOST_OF_NATURE]
    tensors = list(dict.fromkeys(_tensors(setting, node)))
    return [*tensors[:_MOST_TENSORS], *tensors[_MOST_TENSORS:][-1:]]


def _tensors(setting: Setting, node: ast.expr | ast.stmt) -> Iterator[str]:
    names = setting.scopes.names(node)
    for part in (node, setting.home(node).statement):
        names_there = (one for one in ast.walk(part) if isinstance(one, ast.Name))
        read = [one for one in names_there if isinstance(one.ctx, ast.Load)]
        read.sort(key=lambda one: (one.lineno, one.col_offset), reverse=True)
        own = [one.id for one in read if names.nature(one.id) is Nature.TENSOR]
        if not isinstance(part, ast.Name):
            yield from own
        for one in own:
            made_of = [names[name] for name in names[one].made_of if name in names]
            made_of.sort(key=lambda other: (other.first, other.name))
            yield from (other.name for other in made_of if other.nature is Nature.TENSOR)
    variables = setting.scopes.variables(node)
    yield from (one.name for one in reversed(variables) if one.nature is Nature.TENSOR)
