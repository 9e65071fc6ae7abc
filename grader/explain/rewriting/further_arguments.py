"""Rewrite rules for missing code: further arguments of calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, Draft, appended, place_of_arguments, put
from grader.explain.rewriting.ingredients import unused, values_of
from grader.explain.rewriting.program.index import CallSignature
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.source import callee
from grader.explain.rewriting.program.vocabulary import kinship

_MOST_PARAMETERS = 5


def further_arguments(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields further arguments, and names in the place of literal ones."""
    if not callee_or_call(node):
        return
    signature = setting.index.signature(node)
    given = {keyword.arg for keyword in node.keywords}
    if signature is not None:
        yield from _added(setting, node, signature, given)
    visible = setting.scopes.visible(node)
    for parameter, value in setting.index.arguments(node):
        if isinstance(value, ast.Name) and parameter.name in visible - {value.id}:
            yield put(setting, value, parameter.name, "name", CHANGE, f"the use of `{value.id}`")
        if not isinstance(value, ast.Constant) or isinstance(value.value, str):
            continue
        for cost, text in values_of(setting, node, parameter):
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
        for cost, text in values_of(setting, node, parameter):
            shown = text if follows else f"{parameter.name}={text}"
            yield _appended(setting, node, shown, cost)


def _unpacks(node: ast.Call) -> bool:
    """Returns whether a call has an unknown number of arguments: `f(*given)`."""
    return any(isinstance(one, ast.Starred) for one in node.args) or any(
        one.arg is None for one in node.keywords
    )


def _appended(setting: Setting, node: ast.Call, text: str, cost: float) -> Draft:
    name = callee_or_call(node)
    piece = appended(setting, node, text)
    subject, at = f"what `{name}` is given", place_of_arguments(setting, node)
    return Draft("argument-added", cost, subject, node, (piece,), at)
