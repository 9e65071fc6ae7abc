"""One of several like things made after its neighbour: `cos[at]` for `cos`, beside `sin[at]`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from grader.explain.rewriting.draft import CHANGE, WRAP, Draft, put, wrap
from grader.explain.rewriting.program.setting import Setting, callee
from grader.explain.rewriting.replaced.siblings import siblings

_WORD = re.compile(r"[A-Za-z_]\w*")
_NEAR = 4
_MOST_PARTS = 8
_MOST_SIBLINGS = 2
_CALL = "a call that is missing"


def statements(setting: Setting, node: ast.Assign | ast.Expr) -> Iterator[Draft]:
    """What is assigned, or called, as in a statement nearby about a thing of a kin."""
    whole = setting.program.text(node)
    for model in _near(setting, node):
        if isinstance(model, (ast.Assign, ast.Expr)) and type(model) is type(node):
            yield from _after(setting, node, node.value, whole, model.value, _text(setting, model))


def functions(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """`math.sin(x)` for `x`, beside `math.cos(x)`."""
    own = setting.program.text(node.value)
    for model in _near(setting, node):
        match model:
            case ast.Assign(
                value=ast.Call(func=ast.Attribute(value=ast.Name()) as called, args=[taken])
            ):
                name, before = callee(model.value), setting.program.text(called)
            case _:
                continue
        cost = CHANGE if setting.program.text(taken) == own else WRAP
        if isinstance(node.value, (ast.Call, ast.Constant)):
            continue
        for other in siblings(name)[:_MOST_SIBLINGS]:
            text = f"{before.removesuffix(name)}{other}("
            yield wrap(setting.program, node.value, text, ")", "modelled", cost, _CALL, loose=True)


def indices(setting: Setting, node: ast.Subscript) -> Iterator[Draft]:
    """The index before or after that of which the same is taken, or set, nearby."""
    program = setting.program
    own, statement = _last(node), program.home(node).statement
    if isinstance(own, (ast.Slice, ast.Constant)) or not isinstance(statement, ast.Assign):
        return
    held = program.text(node.value)
    found: dict[str, None] = {}
    for model in _near(setting, statement):
        for one in program.parts(model):
            if isinstance(one, ast.Subscript) and program.text(one.value) == held:
                index = _last(one)
                if isinstance(index, (ast.BinOp, ast.Name)):
                    found[program.text(index)] = None
    for text in found:
        for more in (f"{text} + 1", f"{text} - 1"):
            subject = f"an index of `{held}`"
            yield put(program, own, more, "index", CHANGE, subject)


def _last(node: ast.Subscript) -> ast.expr:
    index = node.slice
    return index.elts[-1] if isinstance(index, ast.Tuple) and index.elts else index


def _near(setting: Setting, node: ast.stmt) -> Iterator[ast.stmt]:
    """The statements around one in its block, and those of branches among them."""
    home = setting.program.home(node)
    block = getattr(home.parent, home.field)
    if home.index is None or not isinstance(block, list):
        return
    for one in block[max(0, home.index - _NEAR) : home.index + _NEAR + 1]:
        if isinstance(one, ast.If):
            yield from one.body
        elif one is not node:
            yield one


def entries(setting: Setting, node: ast.Dict | ast.Call) -> Iterator[Draft]:
    """What stands under a name, as under another of a kin."""
    if isinstance(node, ast.Dict):
        named = [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key]
        yield from _of_each(setting, [(setting.program.text(k), v) for k, v in named])
    else:
        named_here = [(one.arg, one.value) for one in node.keywords if one.arg]
        yield from _of_each(setting, named_here)


def elements(setting: Setting, node: ast.Tuple | ast.List | ast.Call) -> Iterator[Draft]:
    """One of the things in a row, as another of a kin."""
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
    """The value of a model, with the words of its kin in the place of the model's own."""
    text, held = _text(setting, model), _text(setting, own)
    if "\n" in text or "\n" in held or isinstance(own, ast.Starred | ast.Constant):
        return
    became = _translated(setting, node, whole, its_whole)
    if not became:
        return
    new = _WORD.sub(lambda found: became.get(found[0], found[0]), text)
    if new != held and (new != text or isinstance(node, ast.Assign)):
        subject = "what is done otherwise than beside it"
        yield put(setting.program, own, f"({new})", "modelled", CHANGE, subject)


def _translated(setting: Setting, node: ast.AST, whole: str, its_whole: str) -> dict[str, str]:
    """The words of one text in those of the other, where each has just one of a kin."""
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
