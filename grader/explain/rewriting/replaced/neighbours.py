"""Expressions modelled on their neighbours."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from grader.explain.rewriting.edit import CHANGE, Draft, put
from grader.explain.rewriting.program.setting import Setting

_WORD = re.compile(r"[A-Za-z_]\w*")
_NEAR = 4
_MOST_PARTS = 8


def statements(setting: Setting, node: ast.Assign | ast.Expr) -> Iterator[Draft]:
    """Yields drafts that model a statement on a nearby statement about a thing of a kin."""
    whole = setting.program.text(node)
    for model in _near(setting, node):
        if isinstance(model, (ast.Assign, ast.Expr)) and type(model) is type(node):
            yield from _after(setting, node, node.value, whole, model.value, _text(setting, model))


def _near(setting: Setting, node: ast.stmt) -> Iterator[ast.stmt]:
    """Yields the statements around one in its block, and those of branches among them."""
    home = setting.program.home(node)
    block = getattr(home.parent, home.field)
    if home.index is None or not isinstance(block, list):
        return
    for one in block[max(0, home.index - _NEAR) : home.index + _NEAR + 1]:
        if isinstance(one, ast.If):
            yield from one.body
        elif one is not node:
            yield one


def elements(setting: Setting, node: ast.Tuple | ast.List | ast.Call) -> Iterator[Draft]:
    """Yields one of the things in a row, as another of a kin."""
    row = node.args if isinstance(node, ast.Call) else node.elts
    if isinstance(node, ast.Call) or isinstance(node.ctx, ast.Load):
        yield from _of_each(setting, [("", one) for one in row])


def _of_each(setting: Setting, parts: Sequence[tuple[str, ast.expr]]) -> Iterator[Draft]:
    if not 2 <= len(parts) <= _MOST_PARTS:
        return
    texts = [f"{name} {_text(setting, part)}" for name, part in parts]
    for (_, own), whole in zip(parts, texts, strict=True):
        for (_, model), its_whole in zip(parts, texts, strict=True):
            if model is not own and not isinstance(model, (ast.Name, ast.Constant)):
                yield from _after(setting, own, own, whole, model, its_whole)


def _after(
    setting: Setting, node: ast.AST, own: ast.expr, whole: str, model: ast.expr, its_whole: str
) -> Iterator[Draft]:
    """Yields the value of a model, with the words of its kin in the place of the model's own."""
    text, held = _text(setting, model), _text(setting, own)
    if "\n" in text or "\n" in held or isinstance(own, ast.Starred | ast.Constant):
        return
    became = _translated(setting, node, whole, its_whole)
    if not became:
        return
    new = _WORD.sub(lambda found: became.get(found[0], found[0]), text)
    if new != held and (new != text or isinstance(node, ast.Assign)):
        subject = "the step that differs from the lines beside it"
        yield put(setting.program, own, f"({new})", "modelled", CHANGE, subject)


def _translated(setting: Setting, node: ast.AST, whole: str, its_whole: str) -> dict[str, str]:
    """Returns the words of one text in those of the other, where each has just one of a kin."""
    ours, theirs = set(_WORD.findall(whole)), set(_WORD.findall(its_whole))
    kin = setting.scopes.names(node).kin
    became: dict[str, str] = {}
    for word in theirs - ours:
        fitting = [own for own in ours - theirs if kin(own, word) == 2]
        if len(fitting) > 1:
            return {}
        became |= dict.fromkeys([word], fitting[0]) if fitting else {}
    return became


def _text(setting: Setting, node: ast.AST) -> str:
    return setting.program.text(node)
