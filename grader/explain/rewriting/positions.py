"""The places in a program to which rewrite rules can be limited, and the variables near them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from enum import Enum

from grader.explain.rewriting.program.setting import (
    Setting,
    argument_of,
    callee,
    integer,
    is_axis,
    is_product,
    is_second_name,
    known,
    meets_softmax,
)
from grader.explain.rewriting.program.vocabulary import Nature

_PRODUCTS = ("matmul", "bmm", "mm")
_BOUNDED = ("arange", "range", "linspace")
_MOST_TENSORS, _MOST = 2, 3


class Position(Enum):
    """A kind of place at which an expression may stand."""

    STORED = "all that an assignment stores or a function returns"
    RETURNED = "all that a function returns"
    RENAMED = "a variable that gets a second name"
    ENTRY = "an entry of a tuple or a list"
    GIVEN = "an argument by position"
    NAMED = "an argument by keyword"
    OPERAND = "an operand, except of a matrix product"
    SECOND = "the second factor of a matrix product"
    FIRST = "the first factor of a matrix product"
    DIVISOR = "what something is divided by, or multiplied with"
    DIVIDED = "what is divided"
    BOUND = "a bound of a range or a slice"
    COUNT = "a number that is not an axis"
    PRODUCT = "a matrix product of two tensors"
    WEIGHED = "what a softmax is taken of"
    ROOT = "what a root or a power is taken of"
    HANDED_ON = "an argument of a function whose parameters are known"

    def holds(self, setting: Setting, node: ast.AST) -> bool:
        """Returns whether a node stands at a place of this kind."""
        return isinstance(node, ast.expr) and _TESTS[self](setting, node)


def _is_stored(setting: Setting, node: ast.expr) -> bool:
    home = setting.program.home(node)
    if isinstance(home.parent, ast.IfExp):
        return home.field != "test" and _is_stored(setting, home.parent)
    is_body = isinstance(home.parent, ast.Lambda) and home.field == "body"
    return is_body or (isinstance(home.parent, (ast.Assign, ast.Return)) and home.field == "value")


def _is_given(setting: Setting, node: ast.expr) -> bool:
    parent = setting.parent(node)
    return isinstance(parent, ast.Call) and node in parent.args


def _is_entry(setting: Setting, node: ast.expr) -> bool:
    parent = setting.parent(node)
    return isinstance(parent, (ast.Tuple, ast.List)) and isinstance(
        setting.parent(parent), (ast.Call, ast.Assign, ast.Return)
    )


def _is_operand(setting: Setting, node: ast.expr) -> bool:
    parent = setting.parent(node)
    return isinstance(parent, ast.BinOp) and not isinstance(parent.op, ast.MatMult)


def _is_second(setting: Setting, node: ast.expr) -> bool:
    match setting.parent(node):
        case ast.BinOp(op=ast.MatMult(), right=right):
            return right is node
        case ast.Call() as call:
            return node in call.args and callee(call) in _PRODUCTS
    return False


def _is_first(setting: Setting, node: ast.expr) -> bool:
    match setting.parent(node):
        case ast.BinOp(left=left, op=ast.MatMult()):
            return left is node
    return False


def _is_divisor(setting: Setting, node: ast.expr) -> bool:
    match setting.parent(node):
        case ast.BinOp(op=ast.Div() | ast.Mult(), right=part):
            return part is node
        case ast.AugAssign(op=ast.Div() | ast.Mult(), value=part):
            return part is node
        case ast.Call(func=ast.Attribute(attr="div" | "mul" | "div_" | "mul_")):
            return True
    return False


def _is_divided(setting: Setting, node: ast.expr) -> bool:
    match setting.parent(node):
        case ast.BinOp(left=left, op=ast.Div()):
            return left is node
    return False


def _is_bound(setting: Setting, node: ast.expr) -> bool:
    given = argument_of(setting, node)
    is_of_range = given is not None and callee(given[0]) in _BOUNDED
    is_bound = is_of_range or isinstance(setting.parent(node), ast.Slice)
    return is_bound and integer(node) is None


def _is_root(setting: Setting, node: ast.expr) -> bool:
    match setting.parent(node):
        case ast.BinOp(left=left, op=ast.Pow()):
            return left is node
        case ast.Call() as call:
            return callee(call) == "sqrt" and node in call.args
    return False


def _is_handed_on(setting: Setting, node: ast.expr) -> bool:
    given = argument_of(setting, node)
    return given is not None and setting.signature(given[0]) is not None


_TESTS: dict[Position, Callable[[Setting, ast.expr], bool]] = {
    Position.STORED: _is_stored,
    Position.RETURNED: lambda setting, node: isinstance(setting.parent(node), ast.Return),
    Position.RENAMED: is_second_name,
    Position.ENTRY: _is_entry,
    Position.GIVEN: _is_given,
    Position.NAMED: lambda setting, node: isinstance(setting.parent(node), ast.keyword),
    Position.OPERAND: _is_operand,
    Position.SECOND: _is_second,
    Position.FIRST: _is_first,
    Position.DIVISOR: _is_divisor,
    Position.DIVIDED: _is_divided,
    Position.BOUND: _is_bound,
    Position.COUNT: lambda setting, node: integer(node) is None and not is_axis(setting, node),
    Position.PRODUCT: is_product,
    Position.WEIGHED: meets_softmax,
    Position.ROOT: _is_root,
    Position.HANDED_ON: _is_handed_on,
}


def nearest(
    setting: Setting, node: ast.expr | ast.stmt, wanted: Nature | Sequence[str]
) -> Sequence[str]:
    """Returns variables for an ingredient: some of a nature, or the first visible of some names.

    Tensors come from the expression, its sources and its statement, and include the function's
    first tensor. Variables of other natures come latest first.
    """
    own = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    if not isinstance(wanted, Nature):
        visible = setting.seen.visible(node) - own
        return [name for name in wanted if name in visible][:1]
    if wanted is not Nature.TENSOR:
        return [one for one in known(setting, node, wanted) if one not in own][:_MOST]
    found = list(dict.fromkeys(_tensors(setting, node)))
    return [*found[:_MOST_TENSORS], *found[_MOST_TENSORS:][-1:]]


def _tensors(setting: Setting, node: ast.expr | ast.stmt) -> Iterator[str]:
    names = setting.scopes.names(node)
    for part in (node, setting.program.home(node).statement):
        read = [one for one in ast.walk(part) if isinstance(one, ast.Name) and _is_read(one)]
        read.sort(key=lambda one: (one.lineno, one.col_offset), reverse=True)
        own = [one.id for one in read if names.natures.get(one.id) is Nature.TENSOR]
        if not isinstance(part, ast.Name):
            yield from own
        for one in own:
            made_of = sorted(names.made_of.get(one, ()), key=lambda name: names.first.get(name, 0))
            yield from (name for name in made_of if names.natures.get(name) is Nature.TENSOR)
    variables = setting.seen.variables(node)
    yield from (one.name for one in reversed(variables) if one.nature is Nature.TENSOR)


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)
