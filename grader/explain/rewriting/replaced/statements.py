"""Rewrite rules for statements: repeated for another variable, with two names exchanged."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP, Draft, Replacement
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.source import Function, parameters
from grader.explain.rewriting.program.vocabulary import Nature, in_use, kinship

_MOST = 3
_PART = re.compile(r"[^\W_]+")


def results(setting: Setting, node: ast.Expr) -> Iterator[Draft]:
    """Yields a discarded value, assigned to a tensor that it is computed from."""
    if not isinstance(node.value, ast.Call):
        return
    start, names = setting.span(node).start, setting.scopes.names(node)
    used = dict.fromkeys(one.id for one in ast.walk(node.value) if isinstance(one, ast.Name))
    tensors = [name for name in used if (names.nature(name) or Nature.OTHER).is_tensor]
    for target in tensors[:_MOST]:
        piece = Replacement(start, start, f"{target} = ")
        yield Draft("result", SLIP, "a result that is never used", node, (piece,), start)


def assignments(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields `q = f(q); k = f(k)` for `q = f(q)`."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) if node.lineno == node.end_lineno:
            pass
        case _:
            return
    word = re.compile(rf"\b{re.escape(name)}\b")
    value = setting.text(node.value)
    if not word.search(value) or isinstance(node.value, ast.Name):
        return
    set_before = setting.scopes.names(node).before(node.lineno)
    known = [one.name for one in set_before if one.first > 0 and one.name != name]
    kin = [other for other in known if kinship(name, other) == 2]
    following = setting.following(node)
    next_text = "" if following is None else setting.text(following)
    span = setting.span(node)
    for other in kin[:_MOST]:
        again = f"{other} = {word.sub(other, value)}"
        if again != next_text:
            first = in_use().comes_first(other, name)
            place, text = (span.start, f"{again}; ") if first else (span.end, f"; {again}")
            piece = Replacement(place, place, text)
            subject = f"whether `{other}` needs the same as `{name}`"
            yield Draft("repeated", CHANGE, subject, node, (piece,), span.start)


def for_unused(setting: Setting, node: ast.Assign | ast.Expr) -> Iterator[Draft]:
    """Yields `a.load(s["a"]); b.load(s["b"])` for `a.load(s["a"])` if `b` is never used.

    `a` is the parameter or attribute just before `b`, or else just after, whose name is alike.
    """
    scope, span = setting.scope(node), setting.span(node)
    is_name = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    if not isinstance(scope, Function) or is_name or node.lineno != node.end_lineno:
        return
    read, here, names = _read_in(scope), _read_in(node), setting.scopes.names(node)
    given = [one.arg for one in parameters(scope.args) if names[one.arg].is_own]
    attributes = [name for name, one in names.items() if one.is_attribute]
    orders = [(given, SLIP), (attributes, CHANGE)]
    for order, cost in orders if isinstance(node, ast.Expr) else orders[:1]:
        for place, name in enumerate(order):
            beside = [*order[max(0, place - 1) : place], *order[place + 1 : place + 2]]
            if name in read or here.isdisjoint(beside):
                continue
            model = next((one for one in beside if _changed_word(one, name)), "")
            if model not in here:
                continue
            again = _with_word(setting.text(node), *_changed_word(model, name))
            piece = Replacement(span.end, span.end, f"; {again}")
            subject = f"whether `{name}` needs the same as `{model}`"
            yield Draft("repeated", cost, subject, node, (piece,), span.start)


def _with_word(text: str, word: str, other: str) -> str:
    """Returns a text with another word, also within names: `k_proj` for `q_proj`."""
    for old, new in dict(zip(_in_cases(word), _in_cases(other), strict=True)).items():
        text = re.sub(rf"(?<![^\W_]){re.escape(old)}(?![a-z0-9])", new, text)
    return text


def _in_cases(word: str) -> tuple[str, str, str]:
    return word, word.upper(), word.capitalize()


@functools.lru_cache(maxsize=64)
def _read_in(node: ast.AST) -> frozenset[str]:
    """Returns the variables and the attributes of `self` that code reads."""
    found: set[str] = set()
    for one in ast.walk(node):
        match one:
            case ast.Name(id=name, ctx=ast.Load()):
                found.add(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                found.add(f"self.{name}")
    return frozenset(found)


def _changed_word(name: str, other: str) -> tuple[str, ...]:
    """Returns the only word in which two names differ, and the word in its place; else ()."""
    ours, theirs = (_PART.findall(one.removeprefix("self.")) for one in (name, other))
    changed = [pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]]
    return changed[0] if len(changed) == 1 and len(ours) == len(theirs) else ()


def names_exchanged(setting: Setting, node: ast.stmt) -> Iterator[Draft]:
    """Yields two related names swapped in a whole statement."""
    if not isinstance(node, (ast.Assign, ast.Return, ast.AugAssign)) or node.value is None:
        return
    names = setting.scopes.names(node)
    loops = set(setting.scopes.loops(node))
    places: dict[str, list[ast.expr]] = {}
    for one in setting.parts(node.value):
        match one:
            case ast.Name() | ast.Attribute(value=ast.Name(id="self")):
                places.setdefault(setting.text(one), []).append(one)
    known, uses = list(places), {name: _uses(setting, own) for name, own in places.items()}
    for place, first in enumerate(known):
        for second in known[place + 1 :]:
            are_flags = names.nature(first) is names.nature(second) is Nature.FLAG
            are_like = names.kin(first, second) == 2 or are_flags or {first, second} <= loops
            if not are_like and uses[first].isdisjoint(uses[second]):
                continue
            pieces = sorted(
                Replacement(span.start, span.end, new)
                for old, new in ((first, second), (second, first))
                for span in map(setting.span, places[old])
            )
            if len(pieces) > 1:
                subject = f"the use of `{first}` and `{second}`"
                cost = SLIP if len(pieces) == 2 else CHANGE
                at = pieces[0].start
                yield Draft("names", min(cost, WRAP), subject, node, tuple(pieces), at)


def _uses(setting: Setting, nodes: Iterable[ast.expr]) -> set[tuple[str, int]]:
    """Returns the functions that get values of a name, each with the place of the argument."""
    calls = [(node, call) for node in nodes if isinstance(call := setting.parent(node), ast.Call)]
    return {(setting.text(of.func), of.args.index(one)) for one, of in calls if one in of.args}
