"""Rewrite rules for things that a program has and never reads or calls."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, WRAP, Draft, put, wrap
from grader.explain.rewriting.program.setting import Setting, callee
from grader.explain.rewriting.program.value_kinds import Nature

_MOST = 3
_SUBJECT = "`{}`, which is never used"
_TERMS = (" * ", " / ", " + ", " - ")
_INDICES = ("[..., {}]", "[{}]")


def attributes(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields an attribute that nothing reads, as a term, a factor, an index or a value."""
    if not _is_operand(setting, node) or not _is_numeric(setting, node):
        return
    program = setting.program
    for name, nature in _unread_attributes(setting, node):
        subject = _SUBJECT.format(name)
        if nature is Nature.FUNCTION:
            if not isinstance(node, ast.Constant):
                yield wrap(program, node, f"{name}(", ")", "projection", CHANGE, subject)
            continue
        if nature not in (Nature.FLAG, Nature.SHAPE):
            for before in _TERMS:
                cost = CHANGE if before in (" * ", " / ") else WRAP
                yield wrap(program, node, "", f"{before}{name}", "unread", cost, subject)
        if nature is Nature.WEIGHT:
            for before, after in ((" @ ", ".T"), (" @ ", "")):
                text = f"{before}{name}{after}"
                yield wrap(program, node, "", text, "projection", CHANGE, subject)
        if isinstance(node, (ast.Name, ast.Constant, ast.Attribute)):
            yield put(program, node, name, "unread", CHANGE, subject)
        if isinstance(node, ast.Name):
            for index in _INDICES:
                after = index.format(name)
                yield wrap(program, node, "", after, "unread", CHANGE, subject)


def _unread_attributes(setting: Setting, node: ast.expr) -> list[tuple[str, Nature]]:
    natures = setting.scopes.names(node).natures
    found = (
        (name, nature)
        for name, nature in natures.items()
        if name.startswith("self.") and setting.seen.uses(name.removeprefix("self.")) == 0
    )
    return list(itertools.islice(found, _MOST))


def _is_operand(setting: Setting, node: ast.expr) -> bool:
    """Returns whether a node is a whole value, or takes part in an operation or a call."""
    home = setting.program.home(node)
    match home.parent:
        case ast.Assign() | ast.Return() | ast.AugAssign():
            return home.field == "value"
        case ast.BinOp():
            return isinstance(node, (ast.Name, ast.Call, ast.Attribute))
        case ast.Call():
            return home.field == "args" and callee(home.parent) not in ("range", "len")
        case ast.Tuple(ctx=ast.Load()):
            return isinstance(setting.parent(home.parent), (ast.Assign, ast.Return))
        case _:
            return False


def _is_numeric(setting: Setting, node: ast.expr) -> bool:
    nature = setting.scopes.nature(node)
    return nature.is_tensor or nature.is_number
