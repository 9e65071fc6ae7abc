"""The setting of rewrite rules: a program and its names, with questions that many rules ask."""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence

from grader.explain.rewriting.program.index import ProgramIndex
from grader.explain.rewriting.program.scopes import Observed, Scopes
from grader.explain.rewriting.program.source import LIBRARIES, Program, callee
from grader.explain.rewriting.program.variables import AXIS_KEYWORDS

AXES = frozenset(
    {
        *("softmax", "log_softmax", "sum", "mean", "amax", "amin", "max", "min", "var", "std"),
        *("cat", "concat", "stack", "unsqueeze", "squeeze", "size", "flatten", "unflatten"),
        *("transpose", "swapaxes", "swapdims", "movedim", "permute", "chunk", "split", "unbind"),
        *("moveaxis", "concatenate", "index_select", "flip", "gather", "tensor_split", "prod"),
        *("cumsum", "logsumexp", "repeat_interleave", "select", "narrow", "norm", "argmax"),
    }
)
TURNING = frozenset({"t", "transpose", "swapaxes", "swapdims", "movedim", "moveaxis"})


class Setting(Program):
    """A program with its index and its names.

    `elsewhere` holds the texts of files that it may import, and `observed` what its variables were
    seen to hold.
    """

    def __init__(
        self,
        source: str,
        elsewhere: Sequence[str] = (),
        observed: Observed = types.MappingProxyType({}),
    ) -> None:
        super().__init__(source)
        self.index = ProgramIndex(self, elsewhere)
        self.scopes = Scopes(self, self.index, observed)


def integer(node: ast.AST) -> int | None:
    """Returns the value of an integer literal, with its sign, or None."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    return None


def argument_of(setting: Setting, node: ast.AST) -> tuple[ast.Call, str] | None:
    """Returns the call that a node is an argument of, with its keyword or "", or None."""
    parent = setting.parent(node)
    if isinstance(parent, ast.Call) and node is not parent.func:
        return parent, ""
    if isinstance(parent, ast.keyword):
        around = setting.parent(parent)
        if isinstance(around, ast.Call):
            return around, parent.arg or ""
    return None


def is_axis(setting: Setting, node: ast.AST) -> bool:
    """Returns whether a node is the number of an axis."""
    given = argument_of(setting, node)
    if given is not None:
        call, keyword = given
        if keyword:
            return keyword in AXIS_KEYWORDS
        place = call.args.index(node) if isinstance(node, ast.expr) and node in call.args else 0
        is_method = isinstance(call.func, ast.Attribute) and not is_module(call.func.value)
        return _is_axis_by_position(callee(call), place, node, is_method)
    parent = setting.parent(node)
    if isinstance(parent, ast.Tuple):
        given = argument_of(setting, parent)
        return given is not None and (callee(given[0]) == "permute" or given[1] in AXIS_KEYWORDS)
    if isinstance(parent, ast.Subscript) and node is parent.slice:
        return isinstance(parent.value, ast.Attribute) and parent.value.attr == "shape"
    return False


def _is_axis_by_position(name: str, place: int, node: ast.AST, is_method: bool) -> bool:
    """Returns whether a positional argument is an axis; a function's first one is the tensor."""
    if name not in AXES or isinstance(node, (ast.Tuple, ast.List)):
        return False
    if name in ("chunk", "split", "repeat_interleave"):
        return place == 2 - is_method
    if name == "unflatten":
        return place == 0
    return integer(node) is not None or (place > 0 and isinstance(node, ast.Name))


def named(node: ast.AST) -> str:
    """Returns the words for a call: "`softmax`", or "a call"."""
    return f"`{callee(node)}`" if callee(node) else "a call"


def is_module(node: ast.expr) -> bool:
    """Returns whether a node is a module of functions, not a value with methods."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in LIBRARIES
