"""The natures of values, as guesses from names, annotations and uses of an expression."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from enum import Enum, auto


class Nature(Enum):
    """The nature of a value, as far as one can tell without running code."""

    TENSOR = auto()
    WEIGHT = auto()
    MASK = auto()
    SIZE = auto()
    NUMBER = auto()
    FLAG = auto()
    SHAPE = auto()
    FUNCTION = auto()
    OTHER = auto()

    @property
    def is_tensor(self) -> bool:
        """Returns whether the value is a tensor of some kind."""
        return self in (Nature.TENSOR, Nature.WEIGHT, Nature.MASK)

    @property
    def is_number(self) -> bool:
        """Returns whether the value is an int or a float."""
        return self in (Nature.SIZE, Nature.NUMBER)


_BY_NAME = (
    (Nature.FLAG, re.compile(r"^(is|has|use|return)_|^(training|causal|is_causal)$|_bias$|^bias$")),
    (
        Nature.NUMBER,
        re.compile(r"(^|_)(prob|probability|rate|ratio|fraction)$|_(theta|base|eps|temperature)$"),
    ),
    (Nature.MASK, re.compile(r"mask|allowed|causal|keep|visible|forbidden|blocked|^future")),
    (Nature.WEIGHT, re.compile(r"^[Ww](_|[qkvo]$|$)|weight(?!s$)|_proj$|^proj_|^W\d$|^w\d$")),
    (
        Nature.SIZE,
        re.compile(
            r"^(d|n|num|max|seq|batch|head|dim|axis|size|len|half|hidden|inner|in|out|heads?|dims?)"
            r"(_(k|v|q|h|in|out|ff|model|heads?|dim|size|len|length|head|seq|features|tokens|embd?|"
            r"embed|\w*len))*$"
        ),
    ),
    (Nature.SIZE, re.compile(r"_(size|len|length|dim|width)$|^(depth|width|length|n_ctx|count)$")),
    (
        Nature.NUMBER,
        re.compile(r"^(theta|base|eps|epsilon|scale|p|p_drop|rate|dropout|temperature)$"),
    ),
    (Nature.OTHER, re.compile(r"^(device|dtype|self|cls|name|rope|layers?)$")),
)
AXIS_KEYWORDS = frozenset({"dim", "axis", "dims", "start_dim", "end_dim", "dim0", "dim1", "axes"})
# Parameters that usually count something: heads, tokens, features, a batch.
_COUNTS = ("n", "h", "d", "b", "t", "n_head", "n_heads")
_SIZES = {"size", "numel", "dim", "ndim", "len", "int", "floor", "ceil", "sum_int"}
_NUMBERS = {"float", "sqrt", "log", "exp", "pow", "item"}
_MASKS = {"tril", "triu", "logical_not", "bool", "isinf", "logical_and", "logical_or"}


def nature_of_name(name: str) -> Nature | None:
    """Returns the nature that a name alone suggests, or None."""
    return next((nature for nature, pattern in _BY_NAME if pattern.search(name)), None)


def nature_of_parameter(name: str) -> Nature | None:
    """Returns the nature a parameter's name suggests; some single letters are sizes."""
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
    """Returns the nature of an expression, where `names` holds the natures of names."""
    match node:
        case ast.Name(id=name):
            return names.get(name) or nature_of_name(name) or Nature.OTHER
        case ast.Constant(value=value):
            return _of_constant(value)
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
            # An entry is called what a parameter would be.
            return nature_of_parameter(key) or Nature.TENSOR
        case ast.Subscript(value=value, slice=index):
            inner = nature_of(value, names)
            if inner is Nature.SHAPE:
                return Nature.SHAPE if isinstance(index, ast.Slice) else Nature.SIZE
            return inner
        case ast.Call(func=function, keywords=keywords):
            if any(one.arg == "dtype" and _is_bool(one.value) for one in keywords):
                return Nature.MASK
            return _of_call(function, names)
        case _:
            return Nature.OTHER


def _is_bool(dtype: ast.expr) -> bool:
    return isinstance(dtype, ast.Attribute) and dtype.attr == "bool"


def _of_constant(value: object) -> Nature:
    if isinstance(value, bool):
        return Nature.FLAG
    if isinstance(value, int):
        return Nature.SIZE
    return Nature.NUMBER if isinstance(value, float) else Nature.OTHER


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
        case _:
            return Nature.TENSOR
