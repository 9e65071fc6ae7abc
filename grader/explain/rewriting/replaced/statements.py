"""Statements dropped or exchanged, and two steps in the other order.

The first step often has a name of its own, and stands some lines before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from grader.explain.rewriting.edit import CHANGE, Draft, Replacement, put
from grader.explain.rewriting.program.setting import Setting, callee
from grader.explain.rewriting.program.value_kinds import Nature


def statements(setting: Setting, node: ast.stmt) -> Iterator[Draft]:
    """Yields a statement that does nothing, as far as something remains to be used."""
    text = _instead_of(setting, node)
    if text is None:
        return
    span = setting.program.span(node)
    subject = "a statement that may not belong there"
    piece = Replacement(span.start, span.end, text)
    yield Draft("statement-dropped", CHANGE, subject, node, (piece,), span.start)


def _instead_of(setting: Setting, node: ast.stmt) -> str | None:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            first = setting.scopes.names(node).first.get(name, node.lineno)
            return "pass" if first < node.lineno else None
        case ast.Assign(targets=[ast.Subscript()]) | ast.AugAssign():
            return "pass"
        case ast.Assign(targets=[ast.Attribute()], value=ast.Call()):
            scope = setting.program.scope(node)
            return None if getattr(scope, "name", "") == "__init__" else "pass"
        case ast.Expr(value=ast.Call()) if "super()" not in setting.program.text(node):
            return "pass"
        case _:
            return None


_MOST_INPUTS = 2
_LOWEST = 'float("-inf")'
_FILLING = frozenset({"masked_fill", "masked_fill_", "where"})
_Texts = Sequence[tuple[ast.expr, str]]


def steps(setting: Setting, node: ast.Assign | ast.Return) -> Iterator[Draft]:
    """Yields drafts that exchange two steps.

    The step done to a value before then applies to the result of the step done here.
    """
    value = node.value
    if not isinstance(value, (ast.Call, ast.BinOp)):
        return
    subject = "the order of two steps"
    for used in _tensors(setting, value):
        first = _step_before(setting, node, used.id)
        if first is None:
            continue
        for given in _tensors(setting, first)[:_MOST_INPUTS]:
            anew = [(one, given.id) for one in _tensors(setting, value) if one.id == used.id]
            for filled in _fillings(value):
                inner = _with(setting, value, [*anew, *filled])
                bare = isinstance(value, ast.Call)
                text = _with(setting, first, [(given, inner if bare else f"({inner})")])
                yield put(setting.program, value, text, "steps", CHANGE, subject)


def _step_before(setting: Setting, node: ast.stmt, name: str) -> ast.expr | None:
    """Returns the last value of a variable before a statement, in blocks around it, or None."""
    home = setting.program.home(node)
    block = getattr(home.parent, home.field)
    for one in reversed(block[: home.index] if home.index is not None else []):
        match one:
            case ast.Assign(targets=[ast.Name(id=set_here)], value=value) if set_here == name:
                return value if isinstance(value, (ast.Call, ast.BinOp)) else None
            case _:
                pass
    around = home.parent
    return _step_before(setting, around, name) if isinstance(around, ast.If) else None


def _tensors(setting: Setting, node: ast.expr) -> list[ast.Name]:
    return [
        one
        for one in setting.program.parts(node)
        if isinstance(one, ast.Name) and setting.scopes.nature(one) is Nature.TENSOR
    ]


def _fillings(value: ast.expr) -> list[_Texts]:
    """How what is hidden may be filled: as it is, and for a zero with what no share is left of."""
    zeros = [
        (given, _LOWEST)
        for call in ast.walk(value)
        if isinstance(call, ast.Call) and callee(call) in _FILLING
        for given in call.args[1:]
        if isinstance(given, ast.Constant) and given.value == 0 and given.value is not False
    ]
    return [[], zeros] if zeros else [[]]


def _with(setting: Setting, node: ast.expr, texts: _Texts) -> str:
    """Returns a node's text with other texts in the places of some of its parts."""
    program = setting.program
    whole = program.span(node)
    found, start = "", whole.start
    for part, text in sorted(texts, key=lambda pair: program.span(pair[0]).start):
        span = program.span(part)
        found += program.source[start : span.start] + text
        start = span.end
    return found + program.source[start : whole.end]
