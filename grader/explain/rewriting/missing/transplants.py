"""Rewrite rules for calls, methods and factors that other values have and this one lacks."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, UNLIKELY, WRAP, Draft, wrap
from grader.explain.rewriting.program.elsewhere import LIBRARIES, Around
from grader.explain.rewriting.program.setting import Setting, callee
from grader.explain.rewriting.program.value_kinds import nature_of_parameter
from grader.explain.rewriting.program.vocabulary import Nature, kinship

_MOST_TRANSPLANTS = 8
_MOST_CALLABLES = 4
_OF_TENSORS = ("dtype", "device")
_NOT_VALUES = (Nature.SIZE, Nature.NUMBER, Nature.FLAG, Nature.SHAPE, Nature.FUNCTION)


def transplanted(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields drafts that put the code around one value around another value."""
    if not _is_target(setting, node):
        return
    visible = setting.seen.visible(node)
    found: list[tuple[float, int, Around]] = []
    for place, one in enumerate(setting.seen.surroundings(node)):
        if one.names <= visible and not _is_there(setting, node, one):
            found.append((_cost(setting, node, one), place, one))
    for cost, _, one in sorted(found, key=lambda each: each[:2])[:_MOST_TRANSPLANTS]:
        subject = "a call that is missing" if one.name else "an operation that is missing"
        yield _around(setting, node, one.before, one.after, cost, subject)


def callables(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a call of a function or a layer that is there and that nothing calls."""
    if not _is_target(setting, node):
        return
    names = setting.scopes.names(node)
    visible = setting.seen.visible(node)
    found: list[tuple[float, str]] = []
    for name, nature in names.natures.items():
        attr = name.removeprefix("self.")
        if attr != name:
            unread = nature is Nature.FUNCTION and not names.read.get(name)
        else:
            maybe = nature in (Nature.FUNCTION, Nature.OTHER, Nature.TENSOR)
            unread = maybe and name in visible and not names.read.get(name)
            unread = unread and _may_be_called(setting, name)
        if unread:
            found.append((CHANGE, name))
        if attr != name and _is_gone_through(setting, name):
            found.append((CHANGE, f"{name}[-1]"))
    for cost, name in found[:_MOST_CALLABLES]:
        yield _around(setting, node, f"{name}(", ")", cost, "a call that is missing")
    scope = setting.program.scope(node)
    own = "" if isinstance(scope, ast.Module) else scope.name
    tensors = (one.name for one in setting.seen.variables(node) if one.nature is Nature.TENSOR)
    first = next(tensors, None)
    of_tensor = {one: f"{first}.{one}" for one in _OF_TENSORS} if first else {}
    unused = (
        (name, tuple(one if one in visible else of_tensor.get(one, one) for one in rest))
        for name, rest in setting.signatures.of_first
        if setting.seen.calls(name) == 0
        and name != own
        and {name, *rest} <= visible | of_tensor.keys()
    )
    for name, rest in itertools.islice(unused, _MOST_CALLABLES):
        after = "".join(f", {one}" for one in rest)
        cost = CHANGE if rest else WRAP
        yield _around(setting, node, f"{name}(", f"{after})", cost, "a call that is missing")


def with_unread(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a call of a function that needs one thing more: an unread one of the same nature."""
    unread = [one for one in setting.seen.variables(node) if not one.is_read]
    if not unread or not _is_target(setting, node):
        return
    scope, visible = setting.program.scope(node), setting.seen.visible(node)
    own = {callee(node), callee(setting.parent(node)), getattr(scope, "name", "")}
    found = [
        (name, one.name)
        for name, rest in setting.signatures.of_first
        if len(rest) == 1 and name in visible - own
        for one in unread
        if one.name == rest[0] or _is_of_kind(one.nature, rest[0])
    ]
    for name, given in found[:_MOST_CALLABLES]:
        yield _around(setting, node, f"{name}(", f", {given})", CHANGE, "a call that is missing")


def _is_of_kind(nature: Nature, parameter: str) -> bool:
    """Returns whether a parameter may be what a variable is, by the parameter's name."""
    wanted = nature_of_parameter(parameter) or Nature.TENSOR
    return nature is wanted or (nature.is_tensor and wanted.is_tensor)


def _is_target(setting: Setting, node: ast.expr) -> bool:
    """Returns whether a node is stored, returned or handed over, so that a part may be missing."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Compare, ast.BoolOp, ast.Lambda, ast.ListComp)):
        return False
    if isinstance(node, ast.Name) and (node.id in LIBRARIES or node.id in ("self", "cls")):
        return False
    if setting.scopes.nature(node) in _NOT_VALUES:
        return False
    home = setting.program.home(node)
    match home.parent:
        case ast.Assign() | ast.Return() | ast.AugAssign():
            return home.field == "value"
        case ast.Call():
            return home.field == "args"
        case ast.keyword():
            return isinstance(node, (ast.Name, ast.Attribute))
        case ast.Tuple(ctx=ast.Load()) | ast.List(ctx=ast.Load()):
            return not isinstance(setting.parent(home.parent), ast.Subscript)
        case ast.ListComp() | ast.GeneratorExp():
            return home.field == "elt"
        case ast.BinOp(op=ast.MatMult() | ast.Mult()):
            return isinstance(node, ast.Name)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return isinstance(node, (ast.Name, ast.Attribute))
        case ast.Attribute():
            return isinstance(setting.parent(home.parent), ast.Call)
        case _:
            return False


def _is_there(setting: Setting, node: ast.expr, one: Around) -> bool:
    """Returns whether the same stands around a node, or within it, already."""
    if node is one.taken:
        return True
    parent = setting.parent(node)
    own = {callee(node), callee(parent)}
    if isinstance(parent, ast.Attribute):
        own.add(parent.attr)
    if one.name:
        return one.name in own
    text = setting.program.text(node)
    return bool(one.after) and text.endswith(one.after)


def _cost(setting: Setting, node: ast.expr, one: Around) -> float:
    is_here = one.scope is setting.program.scope(node)
    if _are_alike(node, one.taken):
        cost = SLIP + 0.25 if is_here else CHANGE
    else:
        cost = WRAP if is_here else WRAP + 0.5
    is_method = not one.before and bool(one.name)
    return min(cost + (0.25 if is_method or not one.name else 0.0), UNLIKELY)


def _are_alike(node: ast.expr, other: ast.expr) -> bool:
    """Returns whether two values look like the same thing of two kin."""
    if isinstance(node, ast.Call) and isinstance(other, ast.Call):
        return bool(callee(node)) and callee(node) == callee(other)
    if isinstance(node, ast.Name) and isinstance(other, ast.Name):
        return node.id == other.id or kinship(node.id, other.id) == 2
    if isinstance(node, ast.Attribute) and isinstance(other, ast.Attribute):
        return ast.unparse(node.value) == ast.unparse(other.value) == "self"
    return False


def _is_gone_through(setting: Setting, name: str) -> bool:
    """Returns whether an attribute holds several things, of which the last is the output's."""
    own = re.escape(name)
    return bool(re.search(rf"\bin {own}\b|\bzip\({own}\b|{own}\[", setting.program.source))


def _may_be_called(setting: Setting, name: str) -> bool:
    """Returns whether a variable is called somewhere in the file, or named like what is."""
    return setting.seen.calls(name) > 0 or name.startswith(("to_", "make_", "apply"))


def _around(
    setting: Setting, node: ast.expr, before: str, after: str, cost: float, subject: str
) -> Draft:
    loose = before.endswith("(") and after.startswith((")", ","))
    return wrap(
        setting.program, node, before, after, "transplanted", cost, subject, None, loose=loose
    )
