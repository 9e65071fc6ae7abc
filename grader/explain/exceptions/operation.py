"""The operation that raised: its syntax and its operands' shapes.

A line may hold several operations. Only the one that raised explains the exception.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from grader.core.wire.calls import Operand, Raised
from grader.explain.exceptions.kinds import shape_of

_PRODUCTS = ("matmul", "mm", "bmm")
_OPERATORS = {ast.MatMult: "@", ast.Mult: "*"}


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation that raised: its syntax (None if unknown), and the exception with its values."""

    raised: Raised
    node: ast.expr | None

    @classmethod
    def of(cls, raised: Raised) -> Operation:
        """Returns the operation at which an exception was raised."""
        statement = parsed_statement(raised.expression)
        return cls(raised, statement.value if isinstance(statement, ast.Expr) else None)

    @property
    def name(self) -> str:
        """Returns the operator, `@` or `*`, or the last part of the called function's name."""
        match self.node:
            case ast.BinOp(op=operator):
                return _OPERATORS.get(type(operator), "")
            case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
                return name
        return ""

    @property
    def is_product(self) -> bool:
        """Returns whether the operation is a matrix product of two tensors."""
        return self.name == "@" or (self.name in _PRODUCTS and len(self.operands) == 2)

    @property
    def called(self) -> Operand | None:
        """Returns the object that is called, if the exception reports its value, or None."""
        return self._operand(self.node.func) if isinstance(self.node, ast.Call) else None

    @property
    def operands(self) -> list[ast.expr]:
        """Returns the operands; the first operand of a tensor's method is the tensor."""
        match self.node:
            case ast.BinOp(left=left, right=right):
                return [left, right]
            case ast.Call(func=ast.Attribute(value=owner), args=arguments):
                return [owner, *arguments] if self.shape(owner) is not None else [*arguments]
            case ast.Call(args=arguments):
                return [*arguments]
        return []

    def shapes(self) -> tuple[list[int], list[int]] | None:
        """Returns the shapes of the left and the right operand, if both are known."""
        found = [self.shape(node) for node in self.operands]
        if len(found) != 2 or found[0] is None or found[1] is None:
            return None
        return found[0], found[1]

    def shape(self, node: ast.expr) -> list[int] | None:
        """Returns the shape of an expression that is a known tensor, or None."""
        operand = self._operand(node)
        return None if operand is None else shape_of(operand)

    def _operand(self, node: ast.expr) -> Operand | None:
        name = ast.unparse(node)
        return next((one for one in self.raised.operands if one.name == name), None)


def parsed_statement(text: str) -> ast.stmt | None:
    """Returns the single statement of a text, or None; a worker may invent the text.

    A statement that is nested too deeply to be unparsed counts as none.
    """
    try:
        (node,) = ast.parse(text).body
        ast.unparse(node)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return node
