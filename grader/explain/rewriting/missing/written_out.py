"""Rewrite rules for numbers, None, indices and new objects where a name was meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP, Draft, put
from grader.explain.rewriting.missing.handed_on import recipes
from grader.explain.rewriting.program.setting import Setting, argument_of, integer
from grader.explain.rewriting.program.vocabulary import Nature, kinship

_MOST = 5
_MOST_HOLDERS = 2


def literals(setting: Setting, node: ast.Constant) -> Iterator[Draft]:
    """Yields a name for a number, a flag or None: the parameter's own, or an unread one."""
    if isinstance(node.value, str) or node.value is Ellipsis:
        return
    home = setting.program.home(node)
    if isinstance(home.parent, ast.arguments):
        if node.value is not None:
            yield put(setting.program, node, "None", "default", WRAP, "a default")
        return
    parameter = _parameter(setting, node)
    visible = setting.seen.visible(node)
    names = setting.scopes.names(node)
    own = setting.program.text(node)
    subject = "a value that is written out"
    if parameter is not None:
        for name in (parameter, f"self.{parameter}"):
            if name in visible or name in names.natures:
                yield put(setting.program, node, name, "name", SLIP, subject, (own, parameter))
        for text in _held(setting, node, parameter):
            yield put(setting.program, node, text, "name", CHANGE, subject, (own, parameter))
        if node.value is None:
            for text in _made(setting, node, parameter):
                yield put(setting.program, node, text, "name", CHANGE, subject)
    if node.value is None or _is_large(node):
        for name in _unread(setting, node):
            yield put(setting.program, node, name, "name", CHANGE, subject, (own, name))
    if node.value is None:
        for one in setting.seen.variables(node):
            if one.nature is Nature.MASK:
                yield put(setting.program, node, one.name, "name", CHANGE, subject)


def elements(setting: Setting, node: ast.Subscript) -> Iterator[Draft]:
    """Yields the variable of a loop where one element was written out."""
    if not isinstance(node.ctx, ast.Load) or integer(node.slice) is None:
        return
    if not isinstance(node.value, (ast.Name, ast.Attribute)):
        return
    given = argument_of(setting, node)
    taken = set()
    if given is not None:
        taken = {setting.program.text(one) for one in given[0].args}
    for name in setting.seen.loops(node):
        text = setting.program.text(node.value)
        cost = CHANGE if kinship(name, text) or name not in taken else WRAP
        subject = "an element that is written out"
        yield put(setting.program, node, name, "name", cost, subject)
        yield put(setting.program, node.slice, name, "index", cost, subject)


def _held(setting: Setting, node: ast.expr, parameter: str) -> list[str]:
    """Returns the attributes of a parameter's name that objects here have: `config.theta`."""
    beside = set(setting.signatures.attributes(parameter))
    scope = setting.program.scope(node)
    return [
        f"{holder}.{parameter}"
        for (around, holder), known in setting.seen.attributes.items()
        if around is scope and beside & set(known)
    ][:_MOST_HOLDERS]


def _parameter(setting: Setting, node: ast.expr) -> str | None:
    """Returns the parameter for which an argument stands."""
    given = argument_of(setting, node)
    if given is None:
        return None
    call, keyword = given
    if keyword:
        return keyword
    signature = setting.signature(call)
    if signature is None or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    place = call.args.index(node)
    known = signature.positional[place : place + 1]
    return known[0].name if known else None


def _made(setting: Setting, node: ast.Constant, parameter: str) -> Iterator[str]:
    """Yields how something of a parameter's name is made elsewhere."""
    if parameter in setting.scopes.methods(node):
        for name in _tensors(setting, node)[:2]:
            yield f"self.{parameter}({name})"
        yield f"self.{parameter}()"
    given = argument_of(setting, node)
    yield from recipes(setting, given[0] if given else node, parameter)


def _tensors(setting: Setting, node: ast.AST) -> list[str]:
    known = setting.seen.variables(node)
    return [one.name for one in known if one.nature is Nature.TENSOR]


def _unread(setting: Setting, node: ast.AST) -> list[str]:
    """Variables that nothing reads."""
    return [one.name for one in setting.seen.variables(node) if not one.is_read][:_MOST]


def _is_large(node: ast.Constant) -> bool:
    return (
        isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
        and abs(node.value) >= 100
    )
