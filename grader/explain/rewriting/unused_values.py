"""Rewrite rules for missing code: variables that the code never uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP, Draft, put, wrap
from grader.explain.rewriting.ingredients import unused
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.source import names_in
from grader.explain.rewriting.program.vocabulary import Nature

_NEVER_USED = "`{}`, which is never used"
_TERMS = (
    (" + ", ""),
    (" - ", ""),
    (" * ", ""),
    (" / ", ""),
    (" / (1 - ", ")"),
    (" @ ", ""),
    (" @ ", ".T"),
)


def unused_values(setting: Setting, node: ast.expr) -> Iterator[Draft]:
    """Yields an unused variable in the place of a value, or combined with it."""
    parent = setting.parent(node)
    is_element = isinstance(parent, ast.Tuple) and isinstance(parent.ctx, ast.Load)
    is_value = isinstance(parent, (ast.Assign, ast.Return)) and parent.value is node
    is_value = is_value or (is_element and isinstance(setting.parent(parent), ast.Assign))
    is_operand = isinstance(parent, ast.BinOp)
    is_given = isinstance(parent, ast.Call) and node in parent.args
    if not (is_value or is_operand or is_given):
        return
    own = setting.scopes.nature(node)
    for name, nature in unused(setting, node):
        if own is Nature.FLAG and nature.is_number:
            continue  # A number in place of a flag is a flag that is always set.
        if nature is Nature.FLAG:
            yield from _switched(setting, node, name, can_be_none=is_value or is_given)
        else:
            yield from _combined(setting, node, name, nature)
            if is_value:
                yield _combined_with(setting, node, f" if {name} is None else {name}", name, CHANGE)
        is_part = nature is Nature.WEIGHT and isinstance(node, ast.Subscript)
        is_of_object = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        # A class's attribute may be a member of an enumeration.
        is_choice = is_given and is_of_object and setting.text(node)[:1].isupper()
        same = nature is own or is_part or is_choice
        if same or (is_value and nature is not Nature.FLAG):
            likely = isinstance(node, ast.Call) and nature is own
            cost = SLIP if likely else CHANGE
            yield put(setting, node, name, "forgotten", cost, _NEVER_USED.format(name))


def _combined(setting: Setting, node: ast.expr, name: str, nature: Nature) -> Iterator[Draft]:
    """Yields an unused variable as a further term or factor."""
    both = (nature, setting.scopes.nature(node))
    if isinstance(node, ast.Constant) or not all(n.is_tensor or n.is_number for n in both):
        return
    if nature is setting.scopes.nature(node) is Nature.TENSOR:
        yield wrap(setting, node, f"{name} @ ", "", "forgotten", CHANGE, _NEVER_USED.format(name))
    for before, after in _TERMS:
        cost = WRAP if "@" in before and nature is not Nature.WEIGHT else CHANGE
        yield _combined_with(setting, node, f"{before}{name}{after}", name, cost)


def _switched(setting: Setting, node: ast.expr, name: str, can_be_none: bool) -> Iterator[Draft]:
    """Yields a value that an unused flag switches on: `x if flag else None`, `x * flag`."""
    for other in ("None", *_other_values(setting, node)) if can_be_none else ():
        yield _combined_with(setting, node, f" if {name} else {other}", name, CHANGE)
    if setting.scopes.nature(node).is_number:
        yield _combined_with(setting, node, f" * {name}", name, CHANGE)


def _combined_with(setting: Setting, node: ast.expr, after: str, name: str, cost: float) -> Draft:
    return wrap(setting, node, "", after, "forgotten", cost, _NEVER_USED.format(name))


def _other_values(setting: Setting, node: ast.expr) -> list[str]:
    """Returns the first variable of an expression, and the function's first tensor."""
    own = [name for name in names_in(node) if name not in ("torch", "F", "self", "math")][:1]
    return list(dict.fromkeys((*own, *setting.scopes.tensors(node)[:1])))
