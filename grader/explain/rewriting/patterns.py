"""Patterns over Python source: `torch.cat($x)` becomes `torch.stack($x).flatten(-2)`.

`$x` stands for any expression, the same one wherever it stands. `$*x` stands for all further
arguments, by position and by keyword. A replacement keeps the source text of what they stand for.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.explain.rewriting.edit import PRIMARY, Draft, put
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.source import Program
from grader.explain.rewriting.program.value_kinds import Nature

_HOLE = re.compile(r"\$(\*?)(\w+)")
_STANDS_FOR = "stands_for_"
_SKIPPED = ("ctx", "kind", "type_comment")
# Where an expression needs no parentheses.
_FREE: Mapping[type[ast.AST], Sequence[str]] = {
    ast.Call: ("args",),
    ast.keyword: ("value",),
    ast.Subscript: ("slice",),
    ast.Tuple: ("elts",),
    ast.List: ("elts",),
    ast.Slice: ("lower", "upper"),
}
_READ = ast.Load()
_Bound = dict[str, list[ast.AST]]


@dataclass(frozen=True, slots=True)
class Row:
    """A rewrite rule: a pattern, what it becomes, and its cost.

    `subject` says to a student what is changed. `where` holds the natures that parts must have.
    """

    before: str
    after: str
    cost: float
    subject: str
    where: Mapping[str, Nature] = field(default_factory=dict)


def rewritten(rows: Sequence[Row], setting: Setting, node: ast.AST) -> Iterator[Draft]:
    """Yields the draft of each row whose pattern an expression matches."""
    if not isinstance(node, ast.expr) or not isinstance(getattr(node, "ctx", _READ), ast.Load):
        return
    for pattern, number in _by_type(tuple(row.before for row in rows)).get(type(node), ()):
        bound: _Bound = {}
        one = rows[number]
        if _matches(pattern, node, bound) and _are_such(setting, bound, one.where):
            text = _filled(setting.program, one.after, bound)
            yield put(setting.program, node, text, "rewritten", one.cost, one.subject, one.before)


@functools.lru_cache(maxsize=8)
def _by_type(patterns: tuple[str, ...]) -> dict[type[ast.AST], list[tuple[ast.expr, int]]]:
    """Returns the parsed patterns and their places, by the kind of their outermost node."""
    found: dict[type[ast.AST], list[tuple[ast.expr, int]]] = {}
    for number, text in enumerate(patterns):
        tree = _parsed(text)
        found.setdefault(type(tree), []).append((tree, number))
    return found


@functools.lru_cache(maxsize=512)
def _parsed(text: str) -> ast.expr:
    return ast.parse(_HOLE.sub(rf"\1{_STANDS_FOR}\2", text), mode="eval").body


def _hole(node: object) -> str | None:
    """Returns the name of what stands for any expression."""
    match node:
        case ast.Name(id=name) if name.startswith(_STANDS_FOR):
            return name.removeprefix(_STANDS_FOR)
        case _:
            return None


def _matches(pattern: ast.AST, node: ast.AST, bound: _Bound) -> bool:
    name = _hole(pattern)
    if name is not None:
        if name not in bound:
            bound[name] = [node]
        return isinstance(node, ast.expr) and ast.dump(bound[name][0]) == ast.dump(node)
    if type(pattern) is not type(node):
        return False
    if isinstance(pattern, ast.Call) and isinstance(node, ast.Call):
        pattern, node = _without_rest(pattern, node, bound)
    return all(
        _alike(getattr(pattern, part, None), getattr(node, part, None), bound)
        for part in pattern._fields
        if part not in _SKIPPED
    )


def _without_rest(pattern: ast.Call, node: ast.Call, bound: _Bound) -> tuple[ast.Call, ast.Call]:
    """Binds the further arguments of a call, and returns both calls without them."""
    match pattern.args:
        case [*first, ast.Starred(value=rest)] if (name := _hole(rest)) is not None:
            count = len(first)
            bound[name] = [*node.args[count:], *node.keywords]
            own = ast.Call(node.func, node.args[:count], [])
            return ast.Call(pattern.func, first, []), own
        case _:
            return pattern, node


def _alike(one: object, other: object, bound: _Bound) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_alike(*pair, bound) for pair in pairs)
    if isinstance(one, ast.AST) and isinstance(other, ast.AST):
        return _matches(one, other, bound)
    return type(one) is type(other) and one == other


def _are_such(setting: Setting, bound: _Bound, where: Mapping[str, Nature]) -> bool:
    return all(
        isinstance(one, ast.expr) and setting.scopes.nature(one) is nature
        for name, nature in where.items()
        for one in bound[name]
    )


def _filled(program: Program, after: str, bound: _Bound) -> str:
    """Returns a replacement's text with the source text of all that is bound."""
    free = _free_in(after)

    def text(found: re.Match[str]) -> str:
        nodes = bound[found[2]]
        if found[1]:
            return ", ".join(map(program.outer_text, nodes))
        own, is_held = program.text(nodes[0]), isinstance(nodes[0], (*PRIMARY, ast.Constant))
        return own if is_held or found[2] in free else f"({own})"

    filled = _HOLE.sub(text, after)
    return re.sub(r", (?=[,)])|(?<=\(), ", "", filled)


@functools.lru_cache(maxsize=512)
def _free_in(after: str) -> frozenset[str]:
    """Returns the parts that need no parentheses anywhere in a replacement."""
    places: dict[str, list[bool]] = {}
    for parent in ast.walk(_parsed(after)):
        for part, value in ast.iter_fields(parent):
            for one in value if isinstance(value, list) else [value]:
                name = _hole(one)
                if name is not None:
                    places.setdefault(name, []).append(part in _FREE.get(type(parent), ()))
    return frozenset(name for name, own in places.items() if all(own))
