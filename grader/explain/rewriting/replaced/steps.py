"""Two steps in the other order: `softmax(masked(scores))` for `masked(softmax(scores))`.

What is done first often has a name of its own, and stands some lines before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from grader.explain.rewriting.draft import CHANGE, Draft, put
from grader.explain.rewriting.program.setting import Setting, callee
from grader.explain.rewriting.program.value_kinds import Nature

_MOST_INPUTS = 2
_LOWEST = 'float("-inf")'
_FILLING = frozenset({"masked_fill", "masked_fill_", "where"})
_Texts = Sequence[tuple[ast.expr, str]]


def steps(setting: Setting, node: ast.Assign | ast.Return) -> Iterator[Draft]:
    """What was done to a value before, done to the result of what is done to it here."""
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


def shares(setting: Setting, node: ast.Assign | ast.Return) -> Iterator[Draft]:
    """Shares of which some were masked, divided by their sum."""
    value = node.value
    match value:
        case ast.Call() if len(_fillings(value)) > 1:
            pass
        case ast.BinOp(op=ast.Mult(), right=right, left=left):
            if Nature.MASK not in (setting.scopes.nature(left), setting.scopes.nature(right)):
                return
        case _:
            return
    for used in _tensors(setting, value):
        first = _step_before(setting, node, used.id)
        if first is not None and "softmax" in setting.program.text(first):
            text = f"(shown := {setting.program.text(value)}) / shown.sum(-1, keepdim=True)"
            subject = "what is masked after the softmax"
            yield put(setting.program, value, text, "steps", CHANGE, subject)
            return


def _step_before(setting: Setting, node: ast.stmt, name: str) -> ast.expr | None:
    """What a variable was set to, before a statement and in blocks around it."""
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
    """A node's text with other texts in the places of some of its parts."""
    program = setting.program
    whole = program.span(node)
    found, start = "", whole.start
    for part, text in sorted(texts, key=lambda pair: program.span(pair[0]).start):
        span = program.span(part)
        found += program.source[start : span.start] + text
        start = span.end
    return found + program.source[start : whole.end]
