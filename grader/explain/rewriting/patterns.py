"""Patterns over Python source: `torch.cat($x)` becomes `torch.stack($x).flatten(-2)`.

`$x` stands for any expression, and for the same one wherever it occurs. `$name` stands for a
variable. `$*x` stands for all further arguments, by position and by keyword, and `$**x` for those
by keyword. `[$a:]` stands for a slice. The replacement keeps the source text of each. A `$x` in the
replacement alone stands for a variable nearby: one of the nature or the names that the row's
`where` gives.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.explain.rewriting.edit import PRIMARY, Draft, put, with_indices, wrap
from grader.explain.rewriting.ingredients import Wanted, nearest
from grader.explain.rewriting.positions import Position
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.source import Program

_HOLE = re.compile(r"\$(\*{0,2})(\w+)")
# A gap to fill; without further arguments, the commas around them go too.
_FILLED = re.compile(r"(, )?\$\*+(\w+)(, )?|\$(\w+)")
_STANDS_FOR = "stands_for_"
_VARIABLE = "name"
_SKIPPED = ("ctx", "kind", "type_comment")
# Parts that need no parentheses anywhere.
_HELD = (*PRIMARY, ast.Constant, ast.Starred, ast.arg)
_READ = ast.Load()
_Bound = dict[str, list[ast.AST]]


@dataclass(frozen=True, slots=True)
class Row:
    """A rewrite rule: a pattern, its replacement, and the cost of the edit.

    `subject` names the changed part to a student. `where` holds conditions on gaps of the pattern.
    `at` holds the places at which the expression may stand; if empty, it may stand anywhere.
    """

    before: str
    after: str
    cost: float
    subject: str
    where: Mapping[str, Wanted] = field(default_factory=dict)
    at: Sequence[Position] = ()

    @property
    def problem(self) -> str | None:
        """Returns the reason why the row can never apply, or None."""
        for text in (self.before, self.after):
            try:
                _parsed(text)
            except (SyntaxError, ValueError, IndexError, AttributeError):
                return f"{text!r} is not an expression or statement with gaps like $x"
        names = {name.strip("$*") for text in (self.before, self.after) for name in _holes(text)}
        strange = [name for name in self.where if name not in names]
        return f"where names ${strange[0]}, which is not a gap of the row" if strange else None


class Table:
    """Rows by the type of their pattern's outermost node; None for patterns of any expression."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows: dict[type[ast.AST] | None, list[tuple[ast.AST, Row]]] = {}
        for row in rows:
            tree = _parsed(row.before)
            kind = None if _hole(tree) else type(tree)
            self._rows.setdefault(kind, []).append((tree, row))

    def of(self, node: ast.AST) -> Iterator[tuple[ast.AST, Row]]:
        """Yields the patterns that may match a node, and their rows."""
        yield from self._rows.get(type(node), ())
        yield from self._rows.get(None, ())


def rows(
    subject: str, cost: float, *pairs: tuple[str, str], at: Sequence[Position] = (), **where: Wanted
) -> list[Row]:
    """Returns a row for each pair of written code and meant code."""
    return [Row(before, after, cost, subject, where, at) for before, after in pairs]


def with_text(before: str, *added: str) -> list[tuple[str, str]]:
    """Returns a pair for each text that may be missing after an expression."""
    return [(before, f"{before}{text}") for text in added]


def both_ways(*pairs: tuple[str, str]) -> list[tuple[str, str]]:
    """Returns the pairs, and each with its texts exchanged."""
    return [*pairs, *((after, before) for before, after in pairs)]


_TURNED = ("T", "mT")


def rewritten(table: Table, setting: Setting, node: ast.AST) -> Iterator[Draft]:
    """Yields the drafts of each row whose pattern matches a node."""
    if not isinstance(node, ast.expr | ast.stmt):
        return
    if not isinstance(getattr(node, "ctx", _READ), ast.Load):
        return
    is_turned = isinstance(node, ast.Attribute) and node.attr in _TURNED
    for pattern, one in table.of(node):
        if is_turned and one.after.endswith(tuple(f".{name}" for name in _TURNED)):
            continue  # To turn it back is to drop a transposition: another edit.
        bound = _Bound()
        if not _matches(pattern, node, bound):
            continue
        if not all(
            _is_such(setting, part, wanted)
            for name, wanted in one.where.items()
            for part in bound.get(name, ())
        ):
            continue
        if one.at and not any(place.holds(setting, node) for place in one.at):
            continue
        for given in _ingredients(setting, node, one, bound):
            yield _draft(setting, node, one, bound, given)


def _draft(
    setting: Setting, node: ast.expr | ast.stmt, row: Row, bound: _Bound, given: Mapping[str, str]
) -> Draft:
    after = _HOLE.sub(lambda found: given.get(found[2], found[0]), row.after)
    if isinstance(node, ast.expr) and after.count(row.before) == 1 and row.before in _holes(after):
        before, _, rest = after.partition(row.before)
        kind = "sign" if (before, rest) == ("-", "") else "rewritten"
        return wrap(setting, node, before, rest, kind, row.cost, row.subject)
    text = _filled(setting, after, bound)
    if isinstance(node, ast.Slice):
        text = text[1:-1]
    return put(setting, node, text, "rewritten", row.cost, row.subject)


def _holes(text: str) -> list[str]:
    return [found[0] for found in _HOLE.finditer(text)]


def _ingredients(
    setting: Setting, node: ast.expr | ast.stmt, row: Row, bound: _Bound
) -> Iterator[Mapping[str, str]]:
    """Yields choices of nearby variables for the gaps that only a row's replacement has."""
    free = dict.fromkeys(name[1:] for name in _holes(row.after) if name.strip("$*") not in bound)
    choices = [nearest(setting, node, row.where.get(one, (one,))) for one in free]
    for chosen in itertools.product(*choices):
        yield dict(zip(free, chosen, strict=True))


@functools.lru_cache(maxsize=512)
def _parsed(text: str) -> ast.AST:
    code = _HOLE.sub(rf"\1{_STANDS_FOR}\2", text)
    try:
        statement = ast.parse(code).body[0]
    except SyntaxError:  # `[$a:]` is a slice, which parses only in a subscript
        return ast.parse(f"_{code}", mode="eval").body.slice  # type: ignore[attr-defined, no-any-return]
    return statement.value if isinstance(statement, ast.Expr) else statement


def _hole(node: object) -> str | None:
    """Returns the name of the gap that a pattern's node stands for, or None."""
    match node:
        case ast.Name(id=name) | ast.arg(arg=name) if name.startswith(_STANDS_FOR):
            return name.removeprefix(_STANDS_FOR)
    return None


def _matches(pattern: ast.AST, node: ast.AST, bound: _Bound) -> bool:
    name = _hole(pattern)
    if name is not None:
        first = bound.setdefault(name, [node])[0]
        if not isinstance(node, ast.Name if name == _VARIABLE else type(pattern) | ast.expr):
            return False
        return first is node or ast.unparse(first) == ast.unparse(node)
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
    """Binds a call's further arguments to `$*x` or `$**x`, and returns both without them."""
    match pattern:
        case ast.Call(args=[*first, ast.Starred(value=rest)], keywords=given):
            count = len(first)
        case ast.Call(args=first, keywords=[*given, ast.keyword(arg=None, value=rest)]):
            count = len(node.args)
        case _:
            return pattern, node
    name, named = _hole(rest), {one.arg for one in given}
    if name is None:
        return pattern, node
    others = [one for one in node.keywords if one.arg not in named]
    bound[name] = [*node.args[count:], *others]
    own = [one for one in node.keywords if one.arg in named]
    return ast.Call(pattern.func, first, given), ast.Call(node.func, node.args[:count], own)


def _alike(one: object, other: object, bound: _Bound) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_alike(*pair, bound) for pair in pairs)
    if isinstance(one, ast.AST) and isinstance(other, ast.AST):
        return _matches(one, other, bound)
    are_numbers = type(one) in (int, float) and type(other) in (int, float)
    return (type(one) is type(other) or are_numbers) and one == other


def _is_such(setting: Setting, node: ast.AST, wanted: Wanted) -> bool:
    if isinstance(wanted, tuple):
        return isinstance(node, ast.Name) and node.id in wanted
    natures = wanted if isinstance(wanted, frozenset) else (wanted,)
    return isinstance(node, ast.expr) and setting.scopes.nature(node) in natures


def _filled(program: Program, after: str, bound: _Bound) -> str:
    """Returns a replacement's text with each gap filled by the source text bound to it."""

    def text(found: re.Match[str]) -> str:
        before, rest, behind, name = found.groups("")
        if rest:
            given = ", ".join(map(program.outer_text, bound[rest]))
            return f"{before}{given}{behind}" if given else before and behind
        node = bound[name][0]
        is_held = isinstance(node, _HELD) or with_indices(program, node) is not node
        own = program.text(node)
        return own if is_held else f"({own})"

    return _FILLED.sub(text, after)
