"""Rewrite rules for unused variables, and for literals where a name was meant."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from grader.explain.rewriting.edit import (
    CHANGE,
    SLIP,
    WRAP,
    Draft,
    Replacement,
    place_of_arguments,
    put,
    wrap,
)
from grader.explain.rewriting.missing.handed_on import recipes
from grader.explain.rewriting.program.setting import Setting, argument_of, integer
from grader.explain.rewriting.program.source import Function, callee, names_in
from grader.explain.rewriting.program.value_kinds import nature_of_parameter
from grader.explain.rewriting.program.vocabulary import Nature, kinship

_MOST = 3
_NEVER_USED = "`{}`, which is never used"
_TERMS = (
    (" + ", ""),
    (" - ", ""),
    (" * ", ""),
    (" / ", ""),
    (" / (1 - ", ")"),
    (" @ ", ""),
    (" @ ", ".T"),
)


def unused(setting: Setting, node: ast.AST) -> list[tuple[str, Nature]]:
    """Returns parameters, variables and attributes that are never read."""
    return list(itertools.islice(_unread(setting, node), _MOST))


def _unread(setting: Setting, node: ast.AST) -> Iterator[tuple[str, Nature]]:
    names = setting.scopes.names(node)
    line = getattr(node, "lineno", 0)
    for name, first in names.first.items():
        if not names.read.get(name) and 0 < first < line and name in names.own:
            yield name, names.natures[name]
    for name, nature in names.natures.items():
        is_attribute = name.startswith("self.") and nature is not Nature.FUNCTION
        if is_attribute and not setting.seen.uses[name.removeprefix("self.")]:
            yield name, nature
    around = setting.scope(setting.scope(node))
    while isinstance(around, Function):
        outer = setting.scopes.of(around)
        for name, nature in outer.natures.items():
            if name in outer.own and name not in names.own and not outer.read.get(name):
                yield name, nature
        around = setting.scope(around)


def values(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields an unused variable in the place of a value, or combined with it."""
    parent = setting.parent(node)
    is_element = isinstance(parent, ast.Tuple) and isinstance(parent.ctx, ast.Load)
    is_value = isinstance(parent, (ast.Assign, ast.Return)) and parent.value is node
    is_value = is_value or (is_element and isinstance(setting.parent(parent), ast.Assign))
    is_operand = isinstance(parent, ast.BinOp)
    is_given = isinstance(parent, ast.Call) and node in parent.args
    if isinstance(parent, ast.Attribute) and isinstance(node, ast.Name):
        yield from _projected(setting, node)
    if not (is_value or is_operand or is_given):
        return
    if is_value:
        yield from _through_layers(setting, node)
    for name, nature in unused(setting, node):
        if nature is Nature.FLAG:
            yield from _switched(setting, node, name, can_be_none=is_value or is_given)
        else:
            yield from _combined(setting, node, name, nature)
            if is_value:
                yield _around(
                    setting, node, f" if {name} is None else {name}", name, CHANGE, loose=True
                )
        is_part = nature is Nature.WEIGHT and isinstance(node, ast.Subscript)
        is_of_object = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        # A class's attribute may be a member of an enumeration.
        is_choice = is_given and is_of_object and setting.text(node)[:1].isupper()
        same = nature is setting.scopes.nature(node) or is_part or is_choice
        if same or (is_value and nature is not Nature.FLAG):
            likely = isinstance(node, ast.Call) and nature is setting.scopes.nature(node)
            alike = setting.text(node) if isinstance(node, ast.Constant) else None
            cost = SLIP if likely else CHANGE
            yield put(setting, node, name, "forgotten", cost, _NEVER_USED.format(name), alike)


def _through_layers(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a value wrapped in a call of a layer that its class sets and never calls."""
    nature = setting.scopes.nature(node)
    if nature.is_number or nature is Nature.FUNCTION:
        return
    for layer in setting.scopes.idle_layers(node)[:_MOST]:
        subject = _NEVER_USED.format(layer)
        yield wrap(setting, node, f"{layer}(", ")", "forgotten", CHANGE, subject, loose=True)


def _projected(setting: Setting, node: ast.Name) -> Iterator[Draft]:
    """Yields `(x @ w.T).method()` for `x.method()`, with a weight that is never read."""
    if setting.scopes.nature(node) is not Nature.TENSOR:
        return
    for name, nature in unused(setting, node):
        if nature is Nature.WEIGHT:
            for after in (f" @ {name}.T)", f" @ {name})"):
                yield wrap(setting, node, "(", after, "forgotten", CHANGE, _NEVER_USED.format(name))


def _combined(setting: Setting, node: ast.expr, name: str, nature: Nature) -> Iterator[Draft]:
    """Yields an unused variable as a further term or factor."""
    both = (nature, setting.scopes.nature(node))
    if isinstance(node, ast.Constant) or not all(n.is_tensor or n.is_number for n in both):
        return
    if nature is setting.scopes.nature(node) is Nature.TENSOR:
        yield wrap(setting, node, f"{name} @ ", "", "forgotten", CHANGE, _NEVER_USED.format(name))
    for before, after in _TERMS:
        cost = WRAP if "@" in before and nature is not Nature.WEIGHT else CHANGE
        yield _around(setting, node, f"{before}{name}{after}", name, cost)


def _switched(setting: Setting, node: ast.expr, name: str, can_be_none: bool) -> Iterator[Draft]:
    for other in ("None", *_other_values(setting, node)) if can_be_none else ():
        yield _around(setting, node, f" if {name} else {other}", name, CHANGE)
    if setting.scopes.nature(node).is_number:
        yield _around(setting, node, f" * {name}", name, CHANGE)


def _around(
    setting: Setting, node: ast.expr, after: str, name: str, cost: float, *, loose: bool = False
) -> Draft:
    return wrap(setting, node, "", after, "forgotten", cost, _NEVER_USED.format(name), loose=loose)


def defaults(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields assignments that keep the old value unless it is None.

    The variable is a parameter, or was set in the statement before.
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case _:
            return
    scope = setting.scope(node)
    if isinstance(scope, Function) and (
        any(name == one.arg for one in ast.walk(scope.args) if isinstance(one, ast.arg))
        or _is_set_just_before(setting, node, name)
    ):
        subject = f"when `{name}` is set"
        for turned in ("", ".unsqueeze(-2)"):
            after = f" if {name} is None else {name}{turned}"
            yield wrap(setting, value, "", after, "forgotten", CHANGE, subject, loose=True)


def _is_set_just_before(setting: Setting, node: ast.stmt, name: str) -> bool:
    home = setting.home(node)
    match getattr(home.parent, home.field)[: home.index][-1:] if home.index else []:
        case [ast.Assign(targets=[ast.Name(id=other)], value=ast.Name())]:
            return other == name
    return False


def _other_values(setting: Setting, node: ast.expr) -> list[str]:
    """Returns the first variable of an expression, and the function's first tensor."""
    own = [name for name in names_in(node) if name not in ("torch", "F", "self", "math")][:1]
    return list(dict.fromkeys((*own, *setting.seen.tensors(node)[:1])))


def options(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields unused variables, and variables named like parameters, as further arguments."""
    name = callee(node)
    if not name:
        return
    subject = f"what `{name}` is given"
    given = {keyword.arg for keyword in node.keywords}
    candidates: dict[str, float] = {}
    for own, _ in unused(setting, node):
        if own not in given:
            candidates[f"{own}={own}"] = CHANGE
            candidates[own] = CHANGE
    known = setting.scopes.functions.get(name) or setting.scopes.methods(node).get(name)
    scope = setting.scopes.names(node)
    if known is not None and not any(isinstance(one, ast.Starred) for one in node.args):
        for parameter in known.parameters[len(node.args) :]:
            if parameter in scope.natures and parameter not in given:
                candidates[f"{parameter}={parameter}"] = SLIP
    for text in _sized(setting, node) if known is not None and len(node.args) < known.most else ():
        candidates[text] = WRAP
    for text, cost in candidates.items():
        end = setting.span(node).end - 1
        before = setting.source[setting.span(node.func).end + 1 : end].rstrip()
        start = setting.span(node.func).end + 1 + len(before)
        lead = ", " if before and not before.endswith(",") else " " if before else ""
        piece = Replacement(start, start, f"{lead}{text}")
        at = place_of_arguments(setting, node)
        yield Draft("argument-added", cost, subject, node, (piece,), at, ("argument", name, text))


def _sized(setting: Setting, node: ast.Call) -> list[str]:
    """Returns calls of the file's functions that make a mask or a table from a length."""
    names = setting.scopes.names(node)
    tensors = [one.id for one in node.args if isinstance(one, ast.Name)][:1]
    if not tensors or names.natures.get(tensors[0]) is not Nature.TENSOR:
        return []
    return [
        f"{one.name}({tensors[0]}.shape[-2])"
        for one in setting.scopes.functions.values()
        if one.least == 1 and nature_of_parameter(one.parameters[0]) is Nature.SIZE
    ][:2]


_SUBJECT = "the condition of a branch"


def conditions(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a condition that also checks an unused flag."""
    home = setting.home(node)
    if home.field != "test" or not isinstance(home.parent, (ast.If, ast.IfExp)):
        return
    yield from _of_lengths(setting, node)
    for name, nature in unused(setting, node):
        if nature is Nature.FLAG:
            for before in (f"not {name} or ", f"{name} and "):
                yield wrap(setting, node, before, "", "condition", CHANGE, _SUBJECT)
            yield put(setting, node, name, "condition", CHANGE, _SUBJECT)
            yield put(setting, node, f"not {name}", "condition", WRAP, _SUBJECT)


def _of_lengths(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields `flag and n == m` for `flag`, with two lengths that may be equal."""
    if setting.scopes.nature(node) is not Nature.FLAG or not isinstance(node, ast.Name):
        return
    sizes = [one for one in setting.seen.variables(node) if one.nature is Nature.SIZE]
    lengths = [one.name for one in sizes if setting.scopes.names(node).siblings.get(one.name)]
    tensors = setting.seen.tensors(node)[:_MOST]
    pairs = [
        *itertools.combinations(lengths[:_MOST], 2),
        *itertools.combinations([f"{one}.shape[-2]" for one in tensors], 2),
    ]
    for one, other in pairs:
        after = f" and {one} == {other}"
        yield wrap(setting, node, "", after, "condition", CHANGE, _SUBJECT, loose=True)


_MOST_UNREAD = 5
_MOST_HOLDERS = 2


def literals(setting: Setting, node: ast.Constant) -> Iterator[Draft]:
    """Yields names in the place of a number, a flag or None.

    They are variables named like the parameter, or variables that are never read.
    """
    if isinstance(node.value, str) or node.value is Ellipsis:
        return
    home = setting.home(node)
    if isinstance(home.parent, ast.arguments):
        if node.value is not None:
            yield put(setting, node, "None", "default", WRAP, "a default value")
        return
    parameter = _parameter(setting, node)
    visible = setting.seen.visible(node)
    names = setting.scopes.names(node)
    own = setting.text(node)
    subject = "a hard-coded value"
    if parameter is not None:
        for name in (parameter, f"self.{parameter}"):
            if name in visible or name in names.natures:
                yield put(setting, node, name, "name", SLIP, subject, (own, parameter))
        for text in _held(setting, node, parameter):
            yield put(setting, node, text, "name", CHANGE, subject, (own, parameter))
        if node.value is None:
            for text in _made(setting, node, parameter):
                yield put(setting, node, text, "name", CHANGE, subject)
    if node.value is None or (isinstance(node.value, (int, float)) and abs(node.value) >= 100):
        unread = [one.name for one in setting.seen.variables(node) if not one.is_read]
        for name in unread[:_MOST_UNREAD]:
            yield put(setting, node, name, "name", CHANGE, subject, (own, name))
    if node.value is None:
        for one in setting.seen.variables(node):
            if one.nature is Nature.MASK:
                yield put(setting, node, one.name, "name", CHANGE, subject)


def elements(setting: Setting, node: ast.Subscript) -> Iterator[Draft]:
    """Yields a loop's variable in the place of an element with a literal index."""
    if not isinstance(node.ctx, ast.Load) or integer(node.slice) is None:
        return
    if not isinstance(node.value, (ast.Name, ast.Attribute)):
        return
    given = argument_of(setting, node)
    taken = {setting.text(one) for one in given[0].args} if given is not None else set()
    for name in setting.seen.loops(node):
        cost = CHANGE if kinship(name, setting.text(node.value)) or name not in taken else WRAP
        subject = "a hard-coded element"
        yield put(setting, node, name, "name", cost, subject)
        yield put(setting, node.slice, name, "index", cost, subject)


def _held(setting: Setting, node: ast.expr, parameter: str) -> list[str]:
    """Returns attributes named like a parameter, of objects in the function: `config.theta`."""
    beside = set(setting.signatures.attributes(parameter))
    scope = setting.scope(node)
    return [
        f"{holder}.{parameter}"
        for (around, holder), known in setting.seen.attributes.items()
        if around is scope and beside & set(known)
    ][:_MOST_HOLDERS]


def _parameter(setting: Setting, node: ast.expr) -> str | None:
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
    """Yields expressions that make a value of a parameter's name elsewhere."""
    if parameter in setting.scopes.methods(node):
        for name in setting.seen.tensors(node)[:2]:
            yield f"self.{parameter}({name})"
        yield f"self.{parameter}()"
    given = argument_of(setting, node)
    yield from recipes(setting, given[0] if given else node, parameter)
