"""Rewrite rules for nesting: a call or a condition takes more of an expression, a sign moves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.explain.rewriting.edit import (
    CHANGE,
    PRIMARY,
    SLIP,
    WRAP,
    Draft,
    Replacement,
    put,
)
from grader.explain.rewriting.program.setting import Setting, callee
from grader.explain.rewriting.program.source import Program
from grader.explain.rewriting.replaced.calls import is_module

_DULL = frozenset(
    {
        *("to", "contiguous", "type_as", "device", "cpu", "detach", "list", "tuple", "range"),
        *("len", "print", "zip", "enumerate", "isinstance", "super", "append", "extend", "item"),
        *(
            "dict",
            "getattr",
            "arange",
            "ones",
            "zeros",
            "empty",
            "tensor",
            "full",
            "register_buffer",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class _Layer:
    """A call, the value that it is of, and what stands before and after that."""

    name: str
    before: str
    taken: ast.expr
    after: str
    is_method: bool

    def around(self, program: Program, node: ast.expr) -> str:
        """Returns the same call of another part of the program."""
        return self.of(program.text(node), holds=isinstance(node, PRIMARY))

    def of(self, text: str, *, holds: bool = True) -> str:
        """Returns the same call of what a text says; it `holds` together without parentheses."""
        return f"{self.before}{text if holds or not self.is_method else f'({text})'}{self.after}"


def widened(setting: Setting, node: ast.BinOp) -> Iterator[Draft]:
    """Yields `f(a + b)` for `f(a) + b` or for `a + f(b)`."""
    program = setting.program
    gap = program.between(node.left, node.right)
    operator = program.source[gap.start : gap.end]
    for part in (node.left, node.right):
        layer = _layer(setting, part)
        if layer is None:
            continue
        own = program.outer_text(layer.taken)
        if not isinstance(layer.taken, PRIMARY) and own == program.text(layer.taken):
            own = f"({own})"
        text = (
            f"{own}{operator}{program.outer_text(node.right)}"
            if part is node.left
            else f"{program.outer_text(node.left)}{operator}{own}"
        )
        cost = CHANGE if "softmax" in layer.name else WRAP
        subject = f"the argument of `{layer.name}`"
        yield put(program, node, layer.of(text, holds=False), "extent", cost, subject)


def choices(setting: Setting, node: ast.IfExp) -> Iterator[Draft]:
    """Yields `a + (b if c else d)` for `a + b if c else d`."""
    program = setting.program
    match node.body:
        case ast.BinOp(left=left, right=right):
            gap = program.between(left, right)
            operator = program.source[gap.start : gap.end]
        case _:
            return
    rest = program.source[program.outer_span(node.body).end : program.span(node).end]
    text = f"{program.outer_text(left)}{operator}({program.outer_text(right)}{rest})"
    yield put(program, node, text, "extent", CHANGE, "how far a condition reaches")


def signs(setting: Setting, node: ast.Call | ast.Tuple | ast.List) -> Iterator[Draft]:
    """Yields `f(-a, b)` for `f(a, -b)`."""
    parts = node.args if isinstance(node, ast.Call) else node.elts
    program = setting.program
    for one in parts:
        if not (isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.USub)):
            continue
        if isinstance(one.operand, ast.Constant):
            continue
        for other in parts:
            if other is one or isinstance(other, (ast.UnaryOp, ast.Constant, ast.Starred)):
                continue
            first, second = program.outer_span(one), program.outer_span(other)
            held = program.outer_text(other)
            held = held if isinstance(other, PRIMARY) else f"({held})"
            pieces = (
                Replacement(first.start, first.end, program.outer_text(one.operand)),
                Replacement(second.start, second.end, f"-{held}"),
            )
            at = first.start
            yield Draft(
                "sign", SLIP, "which term has the minus sign", node, tuple(sorted(pieces)), at
            )


def _layer(setting: Setting, node: ast.expr) -> _Layer | None:
    """Returns a call as a layer around a value, or None if it is no such call or too plain."""
    name = callee(node)
    if not isinstance(node, ast.Call) or not name or name in _DULL:
        return None
    program, is_self = setting.program, False
    match node.func:
        case ast.Attribute(value=value) if not is_module(value):
            is_self = isinstance(value, ast.Name) and value.id in ("self", "cls")
            taken = next(iter(node.args), None) if is_self else value
        case _:
            taken = next(iter(node.args), None)
    if taken is None or isinstance(taken, (ast.Starred, ast.Constant)):
        return None
    if name[:1].isupper() and not is_self:
        return None
    whole, part = program.span(node), program.outer_span(taken)
    before = program.source[whole.start : part.start]
    after = program.source[part.end : whole.end]
    if "\n" in program.text(node):
        return None
    return _Layer(name, before, taken, after, taken not in node.args)
