"""Guesses the natures of values from names, annotations and expressions."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from grader.explain.rewriting.program.vocabulary import Nature, nature_of_name

AXIS_KEYWORDS = frozenset({"dim", "axis", "dims", "start_dim", "end_dim", "dim0", "dim1", "axes"})
# Parameters that usually count something.
_COUNTS = ("n", "h", "d", "b", "t")
_OF_CONSTANTS: Mapping[type, Nature] = {bool: Nature.FLAG, int: Nature.SIZE, float: Nature.NUMBER}
_SIZES = {"size", "numel", "dim", "ndim", "len", "int", "floor", "ceil", "sum_int"}
_NUMBERS = {"float", "sqrt", "log", "exp", "pow", "item"}
_MASKS = {"tril", "triu", "logical_not", "bool", "isinf", "logical_and", "logical_or"}


def nature_of_parameter(name: str) -> Nature | None:
    """Returns the nature that a parameter's name suggests; some single letters are sizes."""
    return nature_of_name(name) or (Nature.SIZE if name in _COUNTS else None)


def nature_of_annotation(annotation: ast.expr | None) -> Nature | None:
    """Returns the nature that a parameter's annotation states, or None."""
    if annotation is None:
        return None
    text = ast.unparse(annotation)
    if "Tensor" in text or re.match(r"(Float|Int|Bool)\b", text):
        return Nature.MASK if "Bool" in text else None if "|" in text else Nature.TENSOR
    plain = {"int": Nature.SIZE, "float": Nature.NUMBER, "bool": Nature.FLAG, "str": Nature.OTHER}
    return plain.get(text.split(" ")[0])


def nature_of(node: ast.expr, names: Mapping[str, Nature]) -> Nature:
    """Returns the nature of an expression; `names` holds the natures of variables."""
    match node:
        case ast.Name(id=name):
            return names.get(name) or nature_of_name(name) or Nature.OTHER
        case ast.Constant(value=value):
            return _OF_CONSTANTS.get(type(value), Nature.OTHER)
        case ast.Compare(left=left, comparators=[right, *_]):
            both = (nature_of(left, names), nature_of(right, names))
            return Nature.MASK if any(one.is_tensor for one in both) else Nature.FLAG
        case ast.BoolOp():
            return Nature.FLAG
        case ast.UnaryOp(op=ast.Not()):
            return Nature.FLAG
        case ast.UnaryOp(operand=operand):
            return nature_of(operand, names)
        case ast.BinOp(left=left, op=op, right=right):
            return _of_operation(nature_of(left, names), op, nature_of(right, names))
        case ast.IfExp(body=body):
            return nature_of(body, names)
        case ast.Attribute(value=value, attr=attr):
            return _of_attribute(value, attr, names)
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            # Keys are named like parameters.
            return nature_of_parameter(key) or Nature.TENSOR
        case ast.Subscript(value=value, slice=index):
            inner = nature_of(value, names)
            if inner is Nature.SHAPE:
                return Nature.SHAPE if isinstance(index, ast.Slice) else Nature.SIZE
            return inner
        case ast.Call(func=function, keywords=keywords):
            for one in keywords:
                match one:
                    case ast.keyword(arg="dtype", value=ast.Attribute(attr="bool")):
                        return Nature.MASK
            return _of_call(function, names)
    return Nature.OTHER


def _of_operation(left: Nature, op: ast.operator, right: Nature) -> Nature:
    if Nature.MASK in (left, right) and isinstance(op, (ast.BitAnd, ast.BitOr)):
        return Nature.MASK
    if left.is_tensor or right.is_tensor or isinstance(op, ast.MatMult):
        return Nature.TENSOR
    if left is right is Nature.SIZE and not isinstance(op, (ast.Div, ast.Pow)):
        return Nature.SIZE
    return Nature.NUMBER if left.is_number or right.is_number else Nature.OTHER


def _of_attribute(value: ast.expr, attr: str, names: Mapping[str, Nature]) -> Nature:
    if attr == "shape":
        return Nature.SHAPE
    if attr in ("T", "mT", "real", "imag", "data", "values"):
        return nature_of(value, names)
    if attr in ("device", "dtype"):
        return Nature.OTHER
    if attr in ("inf", "pi", "e"):
        return Nature.NUMBER
    if isinstance(value, ast.Name) and value.id in ("torch", "math", "F", "nn", "np"):
        return Nature.OTHER
    return names.get(f"{ast.unparse(value)}.{attr}") or nature_of_name(attr) or Nature.OTHER


def _of_call(function: ast.expr, names: Mapping[str, Nature]) -> Nature:
    match function:
        case ast.Attribute(value=ast.Name(id="math")):
            return Nature.NUMBER
        case ast.Attribute(attr=name) | ast.Name(id=name):
            if name in _SIZES:
                return Nature.SIZE
            if name in _MASKS:
                return Nature.MASK
            if isinstance(function, ast.Name) and name in _NUMBERS:
                return Nature.NUMBER
            if isinstance(function, ast.Name) and name[:1].isupper():
                return Nature.OTHER
            if isinstance(function, ast.Attribute) and name in ("transpose", "to", "view"):
                return nature_of(function.value, names)
            if name in ("range", "zip", "enumerate", "print", "super", "isinstance", "list"):
                return Nature.OTHER
            if isinstance(function, ast.Attribute) and ast.unparse(function.value) == "nn":
                return Nature.OTHER
            return Nature.TENSOR
    return Nature.TENSOR
