"""Whole statements: dropped, in another order, kept by no variable, done to one of several."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP, Draft, Replacement, put
from grader.explain.rewriting.program.setting import Setting, callee
from grader.explain.rewriting.program.vocabulary import Nature, comes_first, kinship


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


_MOST = 3


def results(setting: Setting, node: ast.Expr) -> Iterator[Draft]:
    """Yields a value that goes nowhere, given to a variable that it is made of."""
    if isinstance(node.value, (ast.Constant, ast.Await, ast.Yield)):
        return
    span = setting.program.span(node)
    natures = setting.scopes.names(node).natures
    subject = "a value that goes nowhere"
    targets: dict[str, None] = {}
    if isinstance(node.value, ast.Tuple):
        targets[", ".join(_first_argument(one) for one in node.value.elts)] = None
    for one in ast.walk(node.value):
        if isinstance(one, ast.Name) and natures.get(one.id, Nature.OTHER).is_tensor:
            targets[one.id] = None
    own = setting.scopes.names(node).own
    match node.value:
        # Never what a module holds: without it every later trial would fail.
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id=name)) as held)) if (
            name in own
        ):
            targets[setting.program.text(held)] = None
        case _:
            pass
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
    """Yields `k = f(k)` beside `q = f(q)`, on the same line."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) if node.lineno == node.end_lineno:
            pass
        case _:
            return
    program = setting.program
    word = re.compile(rf"\b{re.escape(name)}\b")
    value = program.text(node.value)
    if not word.search(value) or isinstance(node.value, ast.Name):
        return
    names = setting.scopes.names(node)
    kin = [
        other
        for other in names.natures
        if other != name
        and kinship(name, other) == 2
        and names.first.get(other, 0) > 0
        and names.first[other] < node.lineno
    ]
    following = program.following(node)
    next_text = "" if following is None else program.text(following)
    span = program.span(node)
    for other in kin[:_MOST]:
        again = f"{other} = {word.sub(other, value)}"
        if again != next_text:
            first = comes_first(other, name)
            place, text = (span.start, f"{again}; ") if first else (span.end, f"; {again}")
            piece = Replacement(place, place, text)
            subject = f"what is done to `{name}` alone"
            yield Draft("repeated", CHANGE, subject, node, (piece,), span.start)


def names_exchanged(setting: Setting, node: ast.stmt) -> Iterator[Draft]:
    """Yields two names of a kin that take each other's places in a whole statement."""
    if not isinstance(node, (ast.Assign, ast.Return, ast.AugAssign)) or node.value is None:
        return
    program = setting.program
    names = setting.scopes.names(node)
    loops = set(setting.seen.loops(node))
    places: dict[str, list[ast.Name]] = {}
    for one in program.parts(node.value):
        if isinstance(one, ast.Name):
            places.setdefault(one.id, []).append(one)
    known = list(places)
    for place, first in enumerate(known):
        for second in known[place + 1 :]:
            are_flags = names.natures.get(first) is names.natures.get(second) is Nature.FLAG
            if names.kin(first, second) != 2 and not are_flags and not {first, second} <= loops:
                continue
            pieces = sorted(
                Replacement(span.start, span.end, new)
                for old, new in ((first, second), (second, first))
                for span in map(program.span, places[old])
            )
            if len(pieces) > 1:
                subject = f"where `{first}` and `{second}` are used"
                cost = SLIP if len(pieces) == 2 else CHANGE
                at = pieces[0].start
                yield Draft("names", min(cost, WRAP), subject, node, tuple(pieces), at)
