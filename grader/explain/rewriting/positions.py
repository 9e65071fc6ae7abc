"""The places in a program to which rewrite rules can be limited."""

from __future__ import annotations

import ast
from collections.abc import Callable
from enum import Enum

from grader.explain.rewriting.program.setting import Setting, argument_of, integer, is_axis
from grader.explain.rewriting.program.source import Function, callee, parameters
from grader.explain.rewriting.program.vocabulary import Nature

_PRODUCTS = ("matmul", "bmm", "mm")
_OF_TENSORS = ("matmul", "einsum", "bmm", "dot", "inner")
_SCALING = ("div", "mul", "div_", "mul_")
_BOUNDED = ("arange", "range", "linspace")


class Position(Enum):
    """A kind of place at which an expression may stand."""

    STORED = "all that an assignment stores or adds, or a function returns"
    RETURNED = "all that a function returns"
    RENAMED = "a variable that gets a second name"
    UNPACKED = "a value of a tuple that an assignment stores"
    FACTOR = "a factor of a matrix product by an operator"
    ENTRY = "an entry of a tuple or a list, or a value of a dict"
    GIVEN = "an argument by position"
    NAMED = "an argument by keyword"
    OPERAND = "an operand, except of a matrix product"
    SECOND = "the second factor of a matrix product"
    FIRST = "the first factor of a matrix product"
    DIVISOR = "what something is divided by, or multiplied with"
    DIVIDED = "what is divided"
    BOUND = "a bound of a range or a slice"
    COUNT = "a number that is neither an axis nor a tensor's factor"
    PRODUCT = "a matrix product of two tensors"
    WEIGHED = "what a softmax is taken of"
    ROOT = "what a root or a power is taken of"
    OVERWRITING = "an assignment to a parameter"
    CONDITION = "the condition of an `if`, or one of joined conditions"
    HANDED_ON = "an argument of a function whose parameters are known"

    def holds(self, setting: Setting, node: ast.AST) -> bool:
        """Returns whether a node stands at a place of this kind."""
        if not isinstance(node, ast.expr):
            return self is Position.OVERWRITING and _is_to_parameter(setting, node)
        home = setting.home(node)
        match self, home.parent, home.field:
            case (
                (Position.STORED | Position.RETURNED, ast.Lambda(), "body")
                | (Position.STORED, ast.Assign() | ast.AugAssign() | ast.Return(), "value")
                | (Position.RETURNED, ast.Return(), _)
                | (Position.GIVEN, ast.Call(), "args")
                | (Position.NAMED, ast.keyword(), _)
                | (Position.SECOND, ast.BinOp(op=ast.MatMult()), "right")
                | (Position.FIRST, ast.BinOp(op=ast.MatMult()), "left")
                | (Position.DIVISOR, ast.BinOp(op=ast.Div() | ast.Mult()), "right")
                | (Position.DIVISOR, ast.AugAssign(op=ast.Div() | ast.Mult()), "value")
                | (Position.DIVIDED, ast.BinOp(op=ast.Div()), "left")
                | (Position.ROOT, ast.BinOp(op=ast.Pow()), "left")
                | (Position.ENTRY, ast.Dict(), "values")
                | (Position.CONDITION, ast.If(), "test")
                | (Position.CONDITION, ast.BoolOp(), "values")
                | (Position.FACTOR, ast.BinOp(op=ast.MatMult()), _)
            ):
                return True
            case Position.UNPACKED, ast.Tuple() as row, _:
                return isinstance(setting.parent(row), ast.Assign)
            case Position.STORED, ast.IfExp() as choice, "body" | "orelse":
                return self.holds(setting, choice)
            case Position.ENTRY, ast.Tuple() | ast.List() as row, _:
                return isinstance(setting.parent(row), (ast.Call, ast.Assign, ast.Return))
            case Position.OPERAND, ast.BinOp(op=operator), _:
                return not isinstance(operator, ast.MatMult)
            case Position.SECOND, ast.Call() as call, "args":
                return callee(call) in _PRODUCTS
            case Position.FIRST, ast.Call(args=[first, _, *_]) as call, "args":
                return first is node and callee(call) in _PRODUCTS
            case Position.FIRST, ast.Attribute(attr=name), _:
                return name in _PRODUCTS
            case Position.DIVISOR, ast.Call(func=ast.Attribute(attr=name)), _:
                return name in _SCALING
            case Position.ROOT, ast.Call() as call, "args":
                return callee(call) == "sqrt"
        test = _TESTS.get(self)
        return test is not None and test(setting, node)


def _is_to_parameter(setting: Setting, node: ast.AST) -> bool:
    """Returns whether a statement assigns to a parameter of its function."""
    around = setting.scope(node)
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) if isinstance(around, Function):
            return name in {one.arg for one in parameters(around.args)}
    return False


def _is_bound(setting: Setting, node: ast.expr) -> bool:
    given = argument_of(setting, node)
    is_of_range = given is not None and callee(given[0]) in _BOUNDED
    is_bound = is_of_range or isinstance(setting.parent(node), ast.Slice)
    return is_bound and integer(node) is None


def _is_count(setting: Setting, node: ast.expr) -> bool:
    match setting.parent(node):
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            other = left if node is right else right
            is_factor = setting.scopes.nature(other).is_tensor
        case _:
            is_factor = False
    return integer(node) is None and not is_axis(setting, node) and not is_factor


def _is_handed_on(setting: Setting, node: ast.expr) -> bool:
    given = argument_of(setting, node)
    return given is not None and setting.index.signature(given[0]) is not None


def _is_second_name(setting: Setting, node: ast.expr) -> bool:
    """Returns whether a variable only gets a second name: `turned = x`."""
    match setting.parent(node):
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=own)):
            return name != own
    return False


def _is_product(setting: Setting, node: ast.expr) -> bool:
    """Returns whether a node is a matrix product whose second factor is not a weight."""
    match node:
        case ast.BinOp(op=ast.MatMult(), right=right):
            parts: list[ast.expr] = [right]
            while isinstance(parts[-1], (ast.Attribute, ast.Call)):
                last = parts[-1]
                parts.append(last.value if isinstance(last, ast.Attribute) else last.func)
            return all(setting.scopes.nature(part) is not Nature.WEIGHT for part in parts)
        case ast.Call():
            return callee(node) in _OF_TENSORS
    return False


def _meets_softmax(setting: Setting, node: ast.expr) -> bool:
    """Returns whether a tensor is an argument of a softmax."""
    given = argument_of(setting, node)
    if given is None or "softmax" not in callee(given[0]).lower():
        return False
    return setting.scopes.nature(node) is Nature.TENSOR


_TESTS: dict[Position, Callable[[Setting, ast.expr], bool]] = {
    Position.RENAMED: _is_second_name,
    Position.BOUND: _is_bound,
    Position.COUNT: _is_count,
    Position.PRODUCT: _is_product,
    Position.WEIGHED: _meets_softmax,
    Position.HANDED_ON: _is_handed_on,
}
