"""Rewrite rules for missing code: unused variables, further arguments, calls of like values.

Two values are like each other if they play the same role, as `q` and `k` do.
"""

from __future__ import annotations

import ast
import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping

from grader.explain.rewriting.edit import (
    CHANGE,
    SLIP,
    WRAP,
    Draft,
    appended,
    place_of_arguments,
    put,
    wrap,
)
from grader.explain.rewriting.ingredients import unused, values_of
from grader.explain.rewriting.positions import Position
from grader.explain.rewriting.program.index import CallSignature
from grader.explain.rewriting.program.setting import Setting, is_module
from grader.explain.rewriting.program.source import Scope, callee, names_in
from grader.explain.rewriting.program.vocabulary import Nature, kinship

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


def unused_values(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields an unused variable in the place of a value, or combined with it."""
    parent = setting.parent(node)
    is_element = isinstance(parent, ast.Tuple) and isinstance(parent.ctx, ast.Load)
    is_value = isinstance(parent, (ast.Assign, ast.Return)) and parent.value is node
    is_value = is_value or (is_element and isinstance(setting.parent(parent), ast.Assign))
    is_operand = isinstance(parent, ast.BinOp)
    is_given = isinstance(parent, ast.Call) and node in parent.args
    if not (is_value or is_operand or is_given):
        return
    own = setting.scopes.nature(node)
    for name, nature in unused(setting, node):
        if own is Nature.FLAG and nature.is_number:
            continue  # A number in place of a flag is a flag that is always set.
        if nature is Nature.FLAG:
            yield from _switched(setting, node, name, can_be_none=is_value or is_given)
        else:
            yield from _combined(setting, node, name, nature)
            if is_value:
                yield _combined_with(setting, node, f" if {name} is None else {name}", name, CHANGE)
        is_part = nature is Nature.WEIGHT and isinstance(node, ast.Subscript)
        is_of_object = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        # A class's attribute may be a member of an enumeration.
        is_choice = is_given and is_of_object and setting.text(node)[:1].isupper()
        same = nature is own or is_part or is_choice
        if same or (is_value and nature is not Nature.FLAG):
            likely = isinstance(node, ast.Call) and nature is own
            cost = SLIP if likely else CHANGE
            yield put(setting, node, name, "forgotten", cost, _NEVER_USED.format(name))


def _combined(setting: Setting, node: ast.expr, name: str, nature: Nature) -> Iterator[Draft]:
    """Yields an unused variable as a further term or factor."""
    both = (nature, setting.scopes.nature(node))
    if isinstance(node, ast.Constant) or not all(n.is_tensor or n.is_number for n in both):
        return
    if nature is setting.scopes.nature(node) is Nature.TENSOR:
        yield wrap(setting, node, f"{name} @ ", "", "forgotten", CHANGE, _NEVER_USED.format(name))
    for before, after in _TERMS:
        cost = WRAP if "@" in before and nature is not Nature.WEIGHT else CHANGE
        yield _combined_with(setting, node, f"{before}{name}{after}", name, cost)


def _switched(setting: Setting, node: ast.expr, name: str, can_be_none: bool) -> Iterator[Draft]:
    """Yields a value that an unused flag switches on: `x if flag else None`, `x * flag`."""
    for other in ("None", *_other_values(setting, node)) if can_be_none else ():
        yield _combined_with(setting, node, f" if {name} else {other}", name, CHANGE)
    if setting.scopes.nature(node).is_number:
        yield _combined_with(setting, node, f" * {name}", name, CHANGE)


def _combined_with(setting: Setting, node: ast.expr, after: str, name: str, cost: float) -> Draft:
    return wrap(setting, node, "", after, "forgotten", cost, _NEVER_USED.format(name))


def _other_values(setting: Setting, node: ast.expr) -> list[str]:
    """Returns the first variable of an expression, and the function's first tensor."""
    own = [name for name in names_in(node) if name not in ("torch", "F", "self", "math")][:1]
    return list(dict.fromkeys((*own, *setting.scopes.tensors(node)[:1])))


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


_MOST_TRANSPLANTS = 8
_MOST_CALLED = 4
# Bounds the work for a function that is written to be expensive.
_MOST_OPERATIONS = 100
_LONGEST = 120
_PLACES = (
    *(Position.STORED, Position.GIVEN, Position.NAMED),
    *(Position.ENTRY, Position.OPERAND, Position.FIRST, Position.SECOND),
)
_SUBJECT = "a call that is missing"


def transplanted(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields a value wrapped as a like value is elsewhere: `turn(k, at)`, beside `turn(q, at)`."""
    if not _is_target(setting, node):
        return
    parent, visible = setting.parent(node), setting.scopes.visible(node)
    there = {callee(node), callee(parent), getattr(parent, "attr", "")} - {""}
    found: dict[tuple[str, str], float] = {}
    for other, taken in _operations(setting).get(setting.scope(node), ())[:_MOST_OPERATIONS]:
        if taken is node or callee(other) in there or not _are_alike(node, taken):
            continue
        whole, part = setting.span(other), setting.outer_span(taken)
        around = setting.source[whole.start : part.start], setting.source[part.end : whole.end]
        is_short = len("".join(around)) <= _LONGEST and "\n" not in "".join(around)
        if is_short and {*names_in(other)} - {*names_in(taken)} <= visible:
            is_function = isinstance(other, ast.Call) and around[0]
            found.setdefault(around, SLIP + 0.25 if is_function else CHANGE)
    for (before, after), cost in [*found.items()][:_MOST_TRANSPLANTS]:
        subject = _SUBJECT if after.endswith(")") else "an operation that is missing"
        yield wrap(setting, node, before, after, "transplanted", cost, subject)


def layers(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields calls of layers that the class has and never calls."""
    idle = setting.scopes.idle_layers(node) if _is_target(setting, node) else []
    for name in idle[:_MOST_CALLED]:
        yield wrap(setting, node, f"{name}(", ")", "transplanted", CHANGE, _SUBJECT)


def _is_target(setting: Setting, node: ast.expr) -> bool:
    """Returns whether a node may be a tensor around which code is missing."""
    nature = setting.scopes.nature(node)
    if isinstance(node, (ast.Tuple, ast.List, ast.Lambda, ast.ListComp)) or is_module(node):
        return False
    home, may_be_tensor = setting.home(node), nature.is_tensor or nature is Nature.OTHER
    has_method = isinstance(home.parent, ast.Attribute) and home.field == "value"
    return may_be_tensor and (has_method or any(one.holds(setting, node) for one in _PLACES))


@functools.lru_cache(maxsize=1)
def _operations(setting: Setting) -> Mapping[Scope, list[tuple[ast.expr, ast.expr]]]:
    """Returns, by function, calls and products that may give a tensor, each with one operand."""
    found: dict[Scope, list[tuple[ast.expr, ast.expr]]] = defaultdict(list)
    for node in setting.nodes:
        # Nothing uses the result of a call that is a statement by itself.
        if isinstance(node, ast.Call | ast.BinOp) and not isinstance(
            setting.parent(node), ast.Expr
        ):
            taken = _taken(setting, node) if setting.scopes.nature(node).is_tensor else []
            found[setting.scope(node)] += [(node, one) for one in taken]
    return found


def _taken(setting: Setting, node: ast.Call | ast.BinOp) -> list[ast.expr]:
    """Returns the values that a call or a product is applied to."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return [left, right]
        case ast.Call(func=ast.Attribute(value=of)) if not is_module(of):
            return node.args[:1] if setting.text(of) == "self" else [of]
        case ast.Call():
            return node.args[:1]
    return []


def _are_alike(node: ast.expr, other: ast.expr) -> bool:
    """Returns whether two values play the same role, like `q` and `k`."""
    match node, other:
        case ast.Call(), ast.Call():
            return bool(callee(node)) and callee(node) == callee(other)
        case ast.Name(id=one), ast.Name(id=another):
            return one == another or kinship(one, another) == 2
        case ast.Attribute(value=ast.Name(id="self")), ast.Attribute(value=ast.Name(id="self")):
            return True
    return False
