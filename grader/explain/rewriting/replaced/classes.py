"""Other classes and functions of a kin, and expressions modelled on their neighbours."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Sequence

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP, Draft, Replacement, put
from grader.explain.rewriting.program.declarations import CallSignature
from grader.explain.rewriting.program.elsewhere import LIBRARIES
from grader.explain.rewriting.program.name_similarity import words
from grader.explain.rewriting.program.setting import Setting, callee

_MOST = 8


def called(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Yields another class, or another function that is declared elsewhere, where one is called."""
    name = callee(node)
    match node.func:
        case ast.Name():
            is_elsewhere = name not in _bound(setting.program.tree)
        case ast.Attribute(value=ast.Name(id=holder)):
            is_elsewhere = True
            if holder in LIBRARIES or holder in ("self", "cls"):
                return
        case _:
            return
    known = setting.signatures.declared
    if name not in known:
        return
    visible = setting.seen.visible(node)
    own = setting.program.function(setting.program.scope(node))
    found = [
        (not _is_related(setting, name, other), not _is_kin(name, other), other)
        for other, signature in known.items()
        if other not in (name, own)
        and other[:1].isupper() == name[:1].isupper()
        and other.startswith("run_") == name.startswith("run_")
        and (is_elsewhere or other in visible)
        and _fits(signature, node)
    ]
    end = setting.program.span(node.func).end
    for is_other, is_far, other in sorted(found)[:_MOST]:
        piece = Replacement(end - len(name), end, other)
        if name[:1].isupper():
            cost = SLIP if not is_other or not is_far else CHANGE
        elif _differ_in_a_word(name, other):
            cost = WRAP
        else:
            continue  # another implementation of the same mends whatever is wrong with one
        subject = f"what is called where it says `{name}`"
        alike = ("function", name, other)
        yield Draft("function", cost, subject, node, (piece,), end - len(name), alike)


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


def members(setting: Setting, node: ast.Assign | ast.AnnAssign) -> Iterator[Draft]:
    """Yields an attribute of a class under the name of one that the class inherits."""
    around = setting.program.scope(node)
    match node:
        case (
            ast.Assign(targets=[ast.Name() as target]) | ast.AnnAssign(target=ast.Name() as target)
        ):
            pass
        case _:
            return
    if not isinstance(around, ast.ClassDef) or setting.seen.uses(target.id) > 0:
        return
    span = setting.program.span(target)
    for other in setting.signatures.inherited(around.name)[:_MOST]:
        piece = Replacement(span.start, span.end, other)
        subject = f"what `{target.id}` is called"
        yield Draft("member-name", CHANGE, subject, node, (piece,), span.start)


@functools.lru_cache(maxsize=8)
def _bound(tree: ast.Module) -> frozenset[str]:
    """Returns the names that a file declares, imports or sets.

    Other names belong to a notebook's other cells.
    """
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found |= {one.asname or one.name for one in names}
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def _is_related(setting: Setting, one: str, other: str) -> bool:
    """Returns whether a class is derived from another, or both are from a third."""
    bases = setting.signatures.bases
    return one in bases(other) or other in bases(one) or bool(set(bases(one)) & set(bases(other)))


def _differ_in_a_word(one: str, other: str) -> bool:
    return len(set(words(one)) ^ set(words(other))) == 1


def _is_kin(one: str, other: str) -> bool:
    """Returns whether two names share a word."""
    return bool(set(words(one)) & set(words(other)))


def _fits(signature: CallSignature, node: ast.Call) -> bool:
    """Returns whether what is given could be taken."""
    if any(isinstance(one, ast.Starred) for one in node.args):
        return True
    given = {one.arg for one in node.keywords}
    names = [one.name for one in (*signature.positional, *signature.by_keyword)]
    needed = [
        one.name
        for one in (*signature.positional[len(node.args) :], *signature.by_keyword)
        if one.default is None
    ]
    return (
        len(node.args) <= len(signature.positional)
        and given <= {*names, None}
        and set(needed) <= given
    )


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


def entries(setting: Setting, node: ast.Dict | ast.Call) -> Iterator[Draft]:
    """Yields drafts that model the entry under a name on the entry under a name of a kin."""
    if isinstance(node, ast.Dict):
        named = [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key]
        yield from _of_each(setting, [(setting.program.text(k), v) for k, v in named])
    else:
        named_here = [(one.arg, one.value) for one in node.keywords if one.arg]
        yield from _of_each(setting, named_here)


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
        subject = "what is done otherwise than beside it"
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
