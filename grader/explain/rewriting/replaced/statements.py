"""Rewrite rules for statements: dropped, repeated, with a lost result, unlike their neighbours."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP, Draft, Replacement, put
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.source import Function, parameters
from grader.explain.rewriting.program.vocabulary import Nature, in_use, kinship


def statements(setting: Setting, node: ast.stmt) -> Iterator[Draft]:
    """Yields `pass` for a statement whose variables are still set without it."""
    if _can_go(setting, node):
        subject = "a statement that may not belong there"
        yield put(setting, node, "pass", "statement-dropped", CHANGE, subject)


def _can_go(setting: Setting, node: ast.stmt) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return any(one.name == name for one in setting.scopes.names(node).before(node.lineno))
        case ast.Assign(targets=[ast.Subscript()]) | ast.AugAssign():
            return True
        case ast.Assign(targets=[ast.Attribute()], value=ast.Call()):
            return getattr(setting.scope(node), "name", "") != "__init__"
        case ast.Expr(value=ast.Call()):
            return "super()" not in setting.text(node)
    return False


_MOST = 3
_PART = re.compile(r"[^\W_]+")


def results(setting: Setting, node: ast.Expr) -> Iterator[Draft]:
    """Yields a discarded value, assigned to a variable that it is computed from."""
    if isinstance(node.value, (ast.Constant, ast.Await, ast.Yield)):
        return
    span = setting.span(node)
    names = setting.scopes.names(node)
    subject = "a result that is never used"
    targets: dict[str, None] = {}
    if isinstance(node.value, ast.Tuple):
        targets[", ".join(_first_argument(one) for one in node.value.elts)] = None
    for one in ast.walk(node.value):
        if isinstance(one, ast.Name) and (names.nature(one.id) or Nature.OTHER).is_tensor:
            targets[one.id] = None
    match node.value:
        # Only local variables: overwriting an attribute of a module breaks all later trials.
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id=name)) as held)) if (
            name in names and names[name].is_own
        ):
            targets[setting.text(held)] = None
    several: list[str] = []
    if isinstance(node.value, ast.Call) and all(isinstance(o, ast.Name) for o in node.value.args):
        given = [one.id for one in node.value.args if isinstance(one, ast.Name)]
        several = [", ".join(given[:count]) for count in range(min(3, len(given)), 1, -1)]
    for target in [*list(targets)[:_MOST], *several]:
        piece = Replacement(span.start, span.start, f"{target} = ")
        yield Draft("result", SLIP, subject, node, (piece,), span.start)


def _first_argument(node: ast.expr) -> str:
    if isinstance(node, ast.Call) and node.args:
        return ast.unparse(node.args[0])
    return ast.unparse(node)


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


_WORD = re.compile(r"[A-Za-z_]\w*")
_NEAR = 4


def as_neighbours(setting: Setting, node: ast.Assign | ast.Expr) -> Iterator[Draft]:
    """Yields drafts that model a statement on a nearby statement about a related variable."""
    for model in _near(setting, node):
        if isinstance(model, (ast.Assign, ast.Expr)) and type(model) is type(node):
            yield from _after(setting, node, model)


def _near(setting: Setting, node: ast.stmt) -> Iterator[ast.stmt]:
    """Yields the statements around one in its block, and those in the body of an `if`."""
    home = setting.home(node)
    block = getattr(home.parent, home.field)
    if home.index is None or not isinstance(block, list):
        return
    for one in block[max(0, home.index - _NEAR) : home.index + _NEAR + 1]:
        if isinstance(one, ast.If):
            yield from one.body
        elif one is not node:
            yield one


def _after(
    setting: Setting, node: ast.Assign | ast.Expr, model: ast.Assign | ast.Expr
) -> Iterator[Draft]:
    """Yields the model's value, with the model's names replaced by the related own names."""
    text, held = setting.text(model.value), setting.text(node.value)
    if "\n" in text or "\n" in held or isinstance(node.value, ast.Constant):
        return
    became = _translated(setting, node, setting.text(node), setting.text(model))
    if not became:
        return
    new = _WORD.sub(lambda found: became.get(found[0], found[0]), text)
    if new != held and (new != text or isinstance(node, ast.Assign)):
        subject = "the difference from similar code"
        yield put(setting, node.value, f"({new})", "modelled", CHANGE, subject)


def _translated(setting: Setting, node: ast.AST, whole: str, its_whole: str) -> dict[str, str]:
    """Returns the name in `whole` for each related name in `its_whole`; {} if one is ambiguous."""
    ours, theirs = set(_WORD.findall(whole)), set(_WORD.findall(its_whole))
    kin = setting.scopes.names(node).kin
    became: dict[str, str] = {}
    for word in theirs - ours:
        fitting = [own for own in ours - theirs if kin(own, word) == 2]
        if len(fitting) > 1:
            return {}
        became |= dict.fromkeys([word], fitting[0]) if fitting else {}
    return became
