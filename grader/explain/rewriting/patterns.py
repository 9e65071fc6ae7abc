"""Patterns over Python source: `torch.cat($x)` becomes `torch.stack($x).flatten(-2)`.

`$x` stands for any expression, and for the same one wherever it occurs. `$name` stands for a
variable. `$*x` stands for all further arguments, by position and by keyword, and `$**x` for those
by keyword. `[$a:]` stands for a slice. The replacement keeps the source text of each. A `$x` in the
replacement alone stands for a variable nearby: one of the nature or the names that the row's
`where` gives. `{sin|cos}` stands for one pattern per word.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from grader.explain.rewriting.edit import PRIMARY, Draft, common_start, put, with_indices, wrap
from grader.explain.rewriting.ingredients import Wanted, nearest
from grader.explain.rewriting.positions import Position
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.program.source import Program, callee

_HOLE = re.compile(r"\$(\*{0,2})(\w+)")
# A gap to fill; without further arguments, the commas around them go too.
_FILLED = re.compile(r"(, )?\$\*+(\w+)(, )?|\$(\w+)")
_CHOICE = re.compile(r"\{[^{}|]*\|[^{}]*\}")
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

    `subject` names the changed part to a student; its gaps are filled too, and `$call` with the
    name of the function. `where` holds conditions on gaps. `at` holds the places at which the
    expression may stand; if empty, it may stand anywhere. `kind` is the kind of the edit.
    """

    before: str
    after: str
    cost: float
    subject: str
    where: Mapping[str, Wanted] = field(default_factory=dict)
    at: Sequence[Position] = ()
    kind: str = "rewritten"

    @property
    def problem(self) -> str | None:
        """Returns the reason why the row can never apply, or None."""
        for text in (self.before, self.after):
            try:
                _parsed(text)
            except (SyntaxError, ValueError, IndexError, AttributeError):
                return f"{text!r} is not an expression or statement with gaps like $x"
        return None

    @property
    def gaps(self) -> set[str]:
        """Returns the names of the gaps: `x` for `$x`."""
        return {name.strip("$*") for text in (self.before, self.after) for name in _holes(text)}


class Table:
    """Rows by the type of their pattern's outermost node, and by the function that it calls."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows: dict[tuple[type[ast.AST] | None, str], list[tuple[ast.AST, Row]]] = {}
        for row in rows:
            tree = _parsed(row.before)
            called = callee(tree)
            key = None if _hole(tree) else type(tree)
            name = "" if called.startswith(_STANDS_FOR) else called
            self._rows.setdefault((key, name), []).append((tree, row))

    def of(self, node: ast.AST) -> Iterator[tuple[ast.AST, Row]]:
        """Yields the patterns that may match a node, and their rows."""
        for key in dict.fromkeys([(type(node), callee(node)), (type(node), ""), (None, "")]):
            yield from self._rows.get(key, ())


def spelled_out(*texts: str) -> Iterator[tuple[str, ...]]:
    """Yields texts once for each choice of a word in braces; equal braces make equal choices."""
    braces = list(dict.fromkeys(found[0] for text in texts for found in _CHOICE.finditer(text)))
    for words in itertools.product(*(one[1:-1].split("|") for one in braces)):
        chosen = dict(zip(braces, words, strict=True))
        yield tuple(_CHOICE.sub(_word_of(chosen), text) for text in texts)


def _word_of(chosen: Mapping[str, str]) -> Callable[[re.Match[str]], str]:
    return lambda found: chosen[found[0]]


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
    after, subject = (
        _HOLE.sub(lambda found: given.get(found[2], found[0]), text)
        for text in (row.after, row.subject.replace("$call", callee(node)))
    )
    if "$" in subject:
        subject = _with_gaps(setting, subject, bound, is_safe=False)
    if isinstance(node, ast.expr) and after.count(row.before) == 1 and row.before in _holes(after):
        before, _, rest = after.partition(row.before)
        return wrap(setting, node, before, rest, row.kind, row.cost, subject)
    kept = bound.get(after[1:])
    text = setting.outer_text(kept[0]) if kept else _filled(setting, after, bound)
    if isinstance(node, ast.Slice):
        text = text[1:-1]
    draft = put(setting, node, text, row.kind, row.cost, subject)
    return replace(draft, at=draft.at + _first_difference(setting.text(node), text))


def _first_difference(old: str, new: str) -> int:
    """Returns the place in the old text where the texts begin to differ, after any spaces."""
    same = common_start(old, new)
    if same == len(old):
        return 0
    return len(old) - len(old[same:].lstrip())


def _holes(text: str) -> list[str]:
    return [found[0] for found in _HOLE.finditer(text)]


def _ingredients(
    setting: Setting, node: ast.expr | ast.stmt, row: Row, bound: _Bound
) -> Iterator[Mapping[str, str]]:
    """Yields choices of nearby variables for the gaps that only a row's replacement has."""
    free = dict.fromkeys(name[1:] for name in _holes(row.after) if name.strip("$*") not in bound)
    choices = [nearest(setting, node, row.where.get(one, Wanted(names=(one,)))) for one in free]
    for chosen in itertools.product(*choices):
        yield dict(zip(free, chosen, strict=True))


@functools.lru_cache(maxsize=2048)
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
    if wanted.names:
        return isinstance(node, ast.Name) and node.id in wanted.names
    return isinstance(node, ast.expr) and setting.scopes.nature(node) in wanted.natures


def _filled(program: Program, after: str, bound: _Bound) -> str:
    """Returns a replacement's text with each gap filled by the source text bound to it.

    Parentheses are added only where the tree would be another one without them.
    """
    bare, safe = (_with_gaps(program, after, bound, is_safe) for is_safe in (False, True))
    if bare != safe:
        with contextlib.suppress(SyntaxError, ValueError):
            if ast.dump(ast.parse(bare)) == ast.dump(ast.parse(safe)):
                return bare
    return safe


def _with_gaps(program: Program, after: str, bound: _Bound, is_safe: bool) -> str:
    def text(found: re.Match[str]) -> str:
        before, rest, behind, name = found.groups("")
        if rest:
            given = ", ".join(map(program.outer_text, bound[rest]))
            return f"{before}{given}{behind}" if given else before and behind
        node = bound[name][0]
        is_held = isinstance(node, _HELD) or with_indices(program, node) is not node
        own = program.text(node)
        return f"({own})" if is_safe and not is_held else own

    return _FILLED.sub(text, after)
