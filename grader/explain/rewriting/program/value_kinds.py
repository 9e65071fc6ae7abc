"""Guesses the natures of values from names, annotations and expressions."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping

from grader.explain.rewriting.program.vocabulary import Nature, nature_of_name

AXIS_KEYWORDS = frozenset({"dim", "axis", "dims", "start_dim", "end_dim", "dim0", "dim1", "axes"})
# Gives the nature of a variable, if it is known.
Known = Callable[[str], Nature | None]
# Parameters that usually count something.
_COUNTS = ("n", "h", "d", "b", "t")
_OF_CONSTANTS: Mapping[type, Nature] = {bool: Nature.FLAG, int: Nature.SIZE, float: Nature.NUMBER}
_OF_CALLS: Mapping[str, Nature] = {
    **dict.fromkeys(("size", "numel", "dim", "len", "int", "floor", "ceil"), Nature.SIZE),
    **dict.fromkeys(("float", "item"), Nature.NUMBER),
    **dict.fromkeys(("tril", "triu", "bool", "isinf"), Nature.MASK),
    **dict.fromkeys(("logical_and", "logical_or", "logical_not"), Nature.MASK),
    **dict.fromkeys(("range", "zip", "enumerate", "super", "list"), Nature.OTHER),
}


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


def nature_of_attribute(name: str, node: ast.AST) -> Nature:
    """Returns the nature of an attribute from the annotation, property or value that tells it.

    An instance of a class counts as a layer.
    """
    match node:
        case ast.AnnAssign(annotation=told):
            return nature_of_annotation(told) or nature_of_name(name) or Nature.OTHER
        case ast.FunctionDef(returns=told, body=[*_, last]):
            value = last.value if isinstance(last, ast.Return) else None
            known = nature_of_annotation(told) or nature_of_name(name)
            return known or (Nature.OTHER if value is None else nature_of(value))
        case ast.Call(func=ast.Attribute(attr=made) | ast.Name(id=made)) if made[:1].isupper():
            return Nature.WEIGHT if made == "Parameter" else Nature.FUNCTION
        case ast.expr():
            return nature_of_name(name) or nature_of(node)
    return Nature.OTHER


def nature_of(node: ast.expr, known: Known = lambda _: None) -> Nature:
    """Returns the nature of an expression; `known` gives the natures of variables."""
    match node:
        case ast.Name(id=name):
            return known(name) or nature_of_name(name) or Nature.OTHER
        case ast.Constant(value=value):
            return _OF_CONSTANTS.get(type(value), Nature.OTHER)
        case ast.Compare(left=left, comparators=[right, *_]):
            both = (nature_of(left, known), nature_of(right, known))
            return Nature.MASK if any(one.is_tensor for one in both) else Nature.FLAG
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return Nature.FLAG
        case ast.Attribute(attr="shape"):
            return Nature.SHAPE
        case ast.Attribute(attr="inf" | "pi" | "e"):
            return Nature.NUMBER
        case ast.Attribute(value=value, attr=attr):
            told = known(f"{ast.unparse(value)}.{attr}") or nature_of_name(attr)
            return told or nature_of(value, known)
        case ast.Subscript(value=value, slice=index):
            inner = nature_of(value, known)
            is_size = inner is Nature.SHAPE and not isinstance(index, ast.Slice)
            return Nature.SIZE if is_size else inner
        case ast.UnaryOp(operand=inner) | ast.IfExp(body=inner):
            return nature_of(inner, known)
        case ast.BinOp(left=left, op=op, right=right):
            return _of_operation(nature_of(left, known), op, nature_of(right, known))
        case ast.Call(func=ast.Attribute(value=ast.Name(id="math"))):
            return Nature.NUMBER
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return _OF_CALLS.get(name, Nature.TENSOR)
    return Nature.TENSOR


def _of_operation(left: Nature, op: ast.operator, right: Nature) -> Nature:
    if left.is_tensor or right.is_tensor or isinstance(op, ast.MatMult):
        is_mask = isinstance(op, (ast.BitAnd, ast.BitOr)) and Nature.MASK in (left, right)
        return Nature.MASK if is_mask else Nature.TENSOR
    if left is right is Nature.SIZE and not isinstance(op, (ast.Div, ast.Pow)):
        return Nature.SIZE
    return Nature.NUMBER if left.is_number or right.is_number else Nature.OTHER
