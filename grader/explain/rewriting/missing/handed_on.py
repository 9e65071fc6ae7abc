"""Rewrite rules for missing and literal arguments, by the signature of the called function."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

from grader.explain.rewriting.edit import (
    CHANGE,
    SLIP,
    WRAP,
    Draft,
    appended,
    place_of_arguments,
    put,
)
from grader.explain.rewriting.missing.forgotten import unused
from grader.explain.rewriting.program.declarations import CallSignature, Parameter
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.source import callee, names_in
from grader.explain.rewriting.program.value_kinds import nature_of_parameter
from grader.explain.rewriting.program.vocabulary import Nature, kinship, nature_of_name

_MOST_PARAMETERS = 5
_MOST_NAMES = 6
_MOST_WORDS = 12
_MOST_RECIPES = 3
_MOST_HOLDERS = 2


def arguments(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields further arguments, and names in the place of literal ones."""
    if not callee_or_call(node):
        return
    signature = setting.index.signature(node)
    given = {keyword.arg for keyword in node.keywords}
    if signature is not None:
        yield from _added(setting, node, signature, given)
    for parameter, value in setting.index.arguments(node):
        if not isinstance(value, ast.Constant) or isinstance(value.value, str):
            continue
        for cost, text in _values(setting, node, parameter):
            yield put(setting, value, text, "name", cost, "a hard-coded value")
    for name, _ in unused(setting, node):
        if name not in given:
            yield _appended(setting, node, name, CHANGE)
            yield _appended(setting, node, f"{name}={name}", CHANGE)


def callee_or_call(node: ast.Call) -> str:
    """Returns the last name of the called function, or of the call that returns it."""
    return callee(node) or callee(node.func)


def _added(
    setting: Setting, node: ast.Call, signature: CallSignature, given: set[str | None]
) -> Iterator[Draft]:
    """Yields arguments for parameters that get none."""
    count, unpacks = len(node.args), _unpacks(node)
    left = signature.positional[count:]
    if unpacks:
        left = tuple(one for one in signature.positional if one.default is not None)
    missing = [one for one in (*left, *signature.by_keyword) if one.name not in given]
    known = [one.name for one in setting.scopes.variables(node)]
    missing.sort(key=lambda one: not any(kinship(one.name, name) for name in known))
    for parameter in missing[:_MOST_PARAMETERS]:
        follows = not (given or unpacks) and parameter in left[:1]
        for cost, text in _values(setting, node, parameter):
            shown = text if follows else f"{parameter.name}={text}"
            yield _appended(setting, node, shown, cost)


def _unpacks(node: ast.Call) -> bool:
    """Returns whether a call has an unknown number of arguments: `f(*given)`."""
    return any(isinstance(one, ast.Starred) for one in node.args) or any(
        one.arg is None for one in node.keywords
    )


def _values(setting: Setting, node: ast.Call, parameter: Parameter) -> Iterator[tuple[float, str]]:
    """Yields the values that a parameter may take, each with its cost, likelier values first."""
    visible = setting.scopes.visible(node)
    names = setting.scopes.names(node)
    name, default = parameter.name, parameter.default
    if name in visible:
        yield SLIP, name
    if default in ("True", "False"):
        yield SLIP + 0.25, str(default == "False")
    nature = nature_of_name(name) or Nature.TENSOR
    known = [one for one in setting.scopes.variables(node) if one.name != name]
    kin = [one.name for one in known if kinship(one.name, name) > 0]
    like = [one.name for one in known if one.nature is nature is not Nature.TENSOR]
    unread = [one.name for one in known if not one.reads]
    for other in list(dict.fromkeys((*kin, *like, *unread)))[:_MOST_NAMES]:
        yield CHANGE, other
    if f"self.{name}" in names:
        yield SLIP, f"self.{name}"
    held = [one.name for one in names.values() if one.is_attribute]
    idle = [one for one in held if not setting.index.uses[one.removeprefix("self.")]]
    for attribute in idle[:_MOST_RECIPES]:
        yield SLIP + 0.25, attribute
    for holder in _holders(setting, node, name):
        yield CHANGE, f"{holder}.{name}"
    if name in setting.index.methods(node):
        for given in ("", *setting.scopes.tensors(node)[:_MOST_RECIPES]):
            yield CHANGE, f"self.{name}({given})"
    for recipe in recipes(setting, node, name):
        yield CHANGE, recipe
    if default is not None and default[:1] in "\"'":
        for word in setting.index.words[:_MOST_WORDS]:
            yield CHANGE, repr(word)
    if default == "None" and nature is Nature.NUMBER:
        yield WRAP, "1.0"
    elif default is not None and re.fullmatch(r"\d+\.\d+", default):
        yield WRAP, f"1 / {default}"


def _holders(setting: Setting, node: ast.expr, name: str) -> list[str]:
    """Returns objects in the function that should have an attribute: `config` for `theta`."""
    beside, scope = set(setting.index.beside(name)), setting.scope(node)
    return [
        holder
        for (around, holder), known in setting.index.read_of.items()
        if around is scope and beside & set(known)
    ][:_MOST_HOLDERS]


def recipes(setting: Setting, node: ast.expr, name: str) -> Iterator[str]:
    """Yields expressions that set a variable of this name elsewhere, adapted to a node's place.

    Variables that are not visible here become the call's first plain argument, or the first tensor;
    sizes become its `shape[-2]`.
    """
    visible = setting.scopes.visible(node)
    given = node.args if isinstance(node, ast.Call) else ()
    plain = (one for one in given if isinstance(one, (ast.Name, ast.Attribute)))
    tensors = (*map(setting.text, plain), *setting.scopes.tensors(node))
    first = next(iter(tensors), None)
    for recipe in setting.index.recipes(name)[:_MOST_RECIPES]:
        absent = sorted(_read_in(recipe) - visible)
        if not absent:
            yield recipe
        elif first is not None:
            for other in absent:
                is_size = nature_of_parameter(other) is Nature.SIZE
                text = f"{first}.shape[-2]" if is_size else first
                recipe = re.sub(rf"(?<!\.)\b{other}\b(?!\s*=[^=])", text, recipe)
            yield recipe
    if nature_of_name(name) is Nature.MASK and first is not None:
        for maker in setting.index.mask_makers[:_MOST_RECIPES]:
            if maker in visible:
                yield f"{maker}({first}.shape[-2])"
                yield f"{maker}({first})"


@functools.lru_cache(maxsize=512)
def _read_in(text: str) -> frozenset[str]:
    return frozenset(names_in(ast.parse(text)))


def _appended(setting: Setting, node: ast.Call, text: str, cost: float) -> Draft:
    name = callee_or_call(node)
    piece = appended(setting, node, text)
    subject, at = f"what `{name}` is given", place_of_arguments(setting, node)
    return Draft("argument-added", cost, subject, node, (piece,), at)
