"""Rewrite rules for constants: numbers, axes, flags, strings."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP, Draft, put
from grader.explain.rewriting.program.setting import (
    TURNING,
    Setting,
    argument_of,
    integer,
    is_axis,
    named,
)
from grader.explain.rewriting.program.source import callee
from grader.explain.rewriting.program.vocabulary import kinship, words

_AXES = (-1, -2, -3, 0, 1, 2, 3)
_NEAR_AXES = ({-1, -2}, {0, 1}, {1, 2}, {-2, -3}, {0, -1}, {1, -1})
_NEAR = 80  # characters
_INFINITY = 'float("-inf")'
_TINY = 1e-3
# Gets the size of the blocks in which a loop counts. It is never at fault: larger blocks need no
# second round, and so hide a fault of the rounds.
_BLOCK = re.compile(r"(block|chunk|tile)\w*(\s*:[^=\n]*)?\s*=\s*\Z", re.IGNORECASE)


def constants(setting: Setting, node: ast.Constant) -> Iterator[Draft]:
    """Yields other values of a constant."""
    parent = setting.parent(node)
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub):
        return
    match node.value:
        case bool(value):
            yield put(setting, node, str(not value), "flag", SLIP, "a flag")
        case int():
            yield from _of_integer(setting, node)
        case float(value):
            yield from _of_float(setting, node, value)


def negatives(setting: Setting, node: ast.UnaryOp) -> Iterator[Draft]:
    """Yields other values of a negative number."""
    if not isinstance(node.op, ast.USub) or not isinstance(node.operand, ast.Constant):
        return
    if isinstance(node.operand.value, float):
        yield from _of_float(setting, node, -node.operand.value)
    elif integer(node) is not None:
        yield from _of_integer(setting, node)


def _of_integer(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    value, start = integer(node), setting.span(node).start
    if value is None or _BLOCK.search(setting.source, max(0, start - _NEAR), start):
        return
    if is_axis(setting, node):
        subject = f"an axis of {_around(setting, node)}"
        for axis in _AXES:
            if _is_futile(setting, node, axis):
                continue
            cost = SLIP if {axis, value} in _NEAR_AXES else CHANGE
            yield put(setting, node, str(axis), "axis", cost, subject)
        return
    given = argument_of(setting, node)
    subject = f"a number in {named(given[0])}" if given else "a number"
    if given and (callee(given[0]) in ("tril", "triu") or given[1] == "diagonal"):
        subject = f"the diagonal of {named(given[0])}"
    sign = _cost_of_sign(setting, node)
    # The likelier ones last: `1 - 1` is a likely 0.
    others = {0: CHANGE, 1: CHANGE, 2: CHANGE, -value: sign, value + 1: SLIP, value - 1: SLIP}
    if value > 0 and isinstance(setting.parent(node), ast.Assign | ast.AnnAssign | ast.arguments):
        others.setdefault(-1, CHANGE)  # it may be the number of an axis
    for other, cost in others.items():
        yield put(setting, node, str(other), "constant", cost, subject)
    for other in (2 * value, value + 2, value - 2):
        yield put(setting, node, str(other), "constant", WRAP, subject)
    if abs(value) in (1, 2):
        match setting.parent(node):
            case ast.BinOp(op=ast.Pow(), right=right) if right is node:
                cost = SLIP
            case _:
                cost = WRAP
        yield put(setting, node, "0.5" if value > 0 else "-0.5", "constant", cost, subject)
    if abs(value) >= 1000:
        for text in (str(value // 10), str(value * 10)):
            yield put(setting, node, text, "constant", CHANGE, subject)


def _is_futile(setting: Setting, node: ast.expr, axis: int) -> bool:
    """Returns whether a transposition with this axis in a node's place may turn nothing.

    An axis counted from the other end may be the transposition's other axis.
    """
    given = argument_of(setting, node)
    if given is None or callee(given[0]) not in TURNING:
        return False
    others = [integer(one) for one in given[0].args if one is not node]
    return any(one is not None and (one == axis or (one < 0) != (axis < 0)) for one in others)


def _cost_of_sign(setting: Setting, node: ast.expr) -> float:
    """Returns the cost of changing a number's sign, which is higher in a product or quotient."""
    match setting.parent(node):
        case ast.BinOp(op=ast.Mult() | ast.Div() | ast.FloorDiv()):
            return CHANGE
    return SLIP


def _around(setting: Setting, node: ast.AST) -> str:
    """Returns the call or the shape that an axis belongs to."""
    for one in setting.around(node):
        if isinstance(one, ast.Call):
            return named(one)
        if isinstance(one, ast.Subscript):
            return f"`{setting.text(one.value)}`"
    return "a call"


def _of_float(setting: Setting, node: ast.expr, value: float) -> Iterator[Draft]:
    given = argument_of(setting, node)
    subject = f"a number in {named(given[0])}" if given else "a number"
    others: dict[float, float] = {-value: _cost_of_sign(setting, node)}
    if abs(value) == 0.5:
        others |= {1.0: CHANGE, 2.0: CHANGE, 0.25: WRAP}
    elif 0 < abs(value) < 0.1:
        others |= {0.0: CHANGE, value * 10: CHANGE, value / 10: CHANGE, value / 1000: WRAP}
        if abs(value) < _TINY:
            others[float(f"{-1 / abs(value):.3g}")] = CHANGE
    elif abs(value) >= 1000:
        others |= {value / 10: CHANGE, value * 10: CHANGE, 0.0: WRAP}
    else:
        near = {value + 1: CHANGE, value - 1: CHANGE, 0.0: CHANGE, 1.0: CHANGE, 2.0: CHANGE}
        near |= {2 * value: SLIP, value / 2: SLIP} if abs(value) in (1.0, 2.0) else {}
        others |= {0.5: WRAP} | near
    for other, cost in others.items():
        yield put(setting, node, repr(other), "constant", cost, subject)
    if (value <= 0 and not isinstance(setting.parent(node), ast.BinOp)) or abs(value) >= 1000:
        yield put(setting, node, _INFINITY, "infinity", CHANGE, subject)


_MOST_WORDS = 12
_ALIKE = 0.75


def other_words(setting: Setting, node: ast.Constant) -> Iterator[Draft]:
    """Yields another known string, or a loop's variable: `mode="rows"` for `mode="columns"`."""
    own = node.value
    if not isinstance(own, str) or not own or not (own[0].isalpha() or own[0] == "_"):
        return
    quote = setting.text(node)[-1]
    for name in setting.scopes.loops(node):
        yield put(setting, node, name, "name", CHANGE, "a hard-coded value")
    # A key often is called like the parameter that its value is for.
    given = argument_of(setting, setting.parent(node))
    called = {given[1], *words(given[1])} - {""} if given is not None else set()
    known = dict.fromkeys((*sorted(called), *setting.index.words))
    likeness = {one: 1.0 if one in called else _likeness(own, one) for one in known if one != own}
    for other in sorted(likeness, key=lambda one: -likeness[one])[:_MOST_WORDS]:
        is_near = likeness[other] >= _ALIKE
        if is_near or own in setting.index.words:
            text = f"{quote}{other}{quote}"
            yield put(setting, node, text, "word", SLIP if is_near else CHANGE, "a string")


def _likeness(one: str, other: str) -> float:
    if kinship(one, other) == 2:
        return 1.0
    are_words = len(one) != 1 != len(other)
    return difflib.SequenceMatcher(None, one, other).ratio() if are_words else 0.0
