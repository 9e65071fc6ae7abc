"""Other classes and functions of a kin, and expressions modelled on their neighbours."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP, Draft, Replacement, put
from grader.explain.rewriting.program.name_similarity import words
from grader.explain.rewriting.program.setting import Setting

_MOST = 8


def bases(setting: Setting, node: ast.ClassDef) -> Iterator[Draft]:
    """Yields another class that a class is derived from, one more, or the same in another order."""
    if not node.bases or not all(isinstance(one, (ast.Name, ast.Attribute)) for one in node.bases):
        return
    program = setting.program
    start, end = program.span(node.bases[0]).start, program.span(node.bases[-1]).end
    texts = [program.text(one) for one in node.bases]
    own = [text.rpartition(".")[2] for text in texts]
    visible = setting.seen.visible(node)
    found: dict[str, float] = {}
    if len(texts) > 1:
        found[", ".join(reversed(texts))] = SLIP
    for other in setting.signatures.classes:
        if other in (node.name, *own) or other not in visible:
            continue
        cost = CHANGE if _is_kin(node.name, other) else WRAP
        found[", ".join((other, *texts))] = cost
        found[", ".join((other, *texts[1:]))] = cost
    for text, cost in sorted(found.items(), key=lambda pair: pair[1])[: 2 * _MOST]:
        piece = Replacement(start, end, text)
        subject = f"what `{node.name}` is derived from"
        yield Draft("bases", cost, subject, node, (piece,), start)


def methods(setting: Setting, node: ast.FunctionDef) -> Iterator[Draft]:
    """Yields a method under the name of one that its class inherits, or that is called of it."""
    around = setting.program.scope(node)
    if not isinstance(around, ast.ClassDef) or not around.bases or node.decorator_list:
        return
    if node.name.startswith("__") or setting.seen.calls(node.name) > 0:
        return
    own = {one.name for one in around.body if isinstance(one, ast.FunctionDef)}
    inherited = setting.signatures.inherited(around.name)
    start = setting.program.span(node).start + len("def ")
    for other in [one for one in inherited if one not in own and not one.startswith("__")][:_MOST]:
        piece = Replacement(start, start + len(node.name), other)
        subject = f"what `{node.name}` is called"
        yield Draft("method-name", CHANGE, subject, node, (piece,), start)


def _is_kin(one: str, other: str) -> bool:
    """Returns whether two names share a word."""
    return bool(set(words(one)) & set(words(other)))


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
