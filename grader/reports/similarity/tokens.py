"""Programs as sequences of tokens that renaming, layout and comments do not change.

A name that a program gives itself is any name; one that it does not is a library's, and stays: it
cannot be renamed. What only tells (comments, docstrings, annotations, imports) and what only groups
(brackets, commas, dots) is left out.
"""

from __future__ import annotations

import ast
import itertools
import keyword
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Name, Number, Punctuation, String, Text, _TokenType

_OWN, _NUMBER, _STRING = "name", "0", "text"
_LEXER = PythonLexer(stripnl=False, ensurenl=False)
_GROUPING = frozenset("()[]{},:.;")
# What is imported and used as a prefix: `F.softmax`, `nn.functional.softmax`, `softmax` are one.
_PREFIXES = frozenset({"functional", "nn"})
_Position = tuple[int, int]


class Token(NamedTuple):
    """A token as it is compared, and its line."""

    text: str
    line: int


def tokens(sources: Sequence[str]) -> list[list[Token]]:
    """Returns the tokens of each file of one program, whether it can be parsed or not."""
    trees = [_parsed(source) for source in sources]
    names = _Names()
    for source, tree in zip(sources, trees, strict=True):
        names.learn_from(tree) if tree is not None else names.guess_from(source)
    return [
        [*_tokens(source, _told(tree) if tree is not None else (), names)]
        for source, tree in zip(sources, trees, strict=True)
    ]


@dataclass(slots=True)
class _Names:
    """The names in a program: its own, its imports under their local names, and modules."""

    own: set[str] = field(default_factory=set)
    imported: dict[str, str] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)

    def learn_from(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                    self.own.add(name)
                case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()):
                    self.own.add(name)
                case ast.arg(arg=name):
                    self.own.add(name)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    self.own.add(name)
                case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
                    self.own.add(name)
                case ast.Import(names=aliases):
                    self.modules |= {(a.asname or a.name).partition(".")[0] for a in aliases}
                case ast.ImportFrom(names=aliases):
                    self._learn_from_import(node.level, aliases)

    def _learn_from_import(self, level: int, aliases: Iterable[ast.alias]) -> None:
        for alias in aliases:
            name = alias.asname or alias.name
            if level or alias.name in _PREFIXES:
                self.modules.add(name)
            else:
                self.imported[name] = alias.name

    def guess_from(self, source: str) -> None:
        """Guesses the own names of unparsable code: definitions, and names before an equals
        sign.
        """
        before = ""
        for _, kind, text in _LEXER.get_tokens_unprocessed(source):
            if _is(kind, Name.Function) or _is(kind, Name.Class):
                self.own.add(text)
            elif text == "=" and before:
                self.own.add(before)
            if text.strip():
                before = text if kind is Name else ""

    def compared(self, name: str) -> str:
        """Returns a name as it is compared; none if it is a module before a dot."""
        if keyword.iskeyword(name):
            return name
        if name in self.own:
            return _OWN
        return "" if name in self.modules else self.imported.get(name, name)


def _parsed(source: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            return None


def _told(tree: ast.Module) -> Sequence[tuple[_Position, _Position]]:
    """Returns the spans of imports and annotations, in lines and bytes."""
    found: list[tuple[_Position, _Position]] = []
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom():
                found.append(((node.lineno, node.col_offset), _end(node)))
            case ast.Expr(value=ast.Constant(value=str())):
                found.append(((node.lineno, node.col_offset), _end(node)))
            case ast.arg(annotation=ast.expr() as told):
                found.append(((node.lineno, node.col_offset + len(node.arg.encode())), _end(told)))
            case ast.AnnAssign():
                found.append((_end(node.target), _end(node.annotation)))
            case ast.FunctionDef(returns=ast.expr() as told):
                # With the arrow before it, which is two tokens to the lexer.
                found.append(((told.lineno, max(told.col_offset - 3, 0)), _end(told)))
    return sorted(found)


def _end(node: ast.expr | ast.stmt) -> _Position:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _tokens(
    source: str, told: Sequence[tuple[_Position, _Position]], names: _Names
) -> Iterator[Token]:
    """Yields the tokens of one file but those between the places in `told`, which are in order."""
    place, line, start = 0, 1, 0
    in_text = False
    for offset, kind, text in _LEXER.get_tokens_unprocessed(source):
        passed = source.count("\n", start, offset)
        if passed:
            line, start = line + passed, source.rindex("\n", start, offset) + 1
        here = line, len(source[start:offset].encode("utf-8", "surrogatepass"))
        while place < len(told) and told[place][1] <= here:
            place += 1
        skipped = place < len(told) and told[place][0] <= here
        compared = "" if skipped else _compared(kind, text, names)
        # A text comes in parts: its quotes, what is between them, its escapes.
        if compared and not (in_text and compared == _STRING):
            yield Token(compared, line)
        if text.strip():
            in_text = compared == _STRING


def _compared(kind: _TokenType, text: str, names: _Names) -> str:
    """Returns a token as it is compared; none of what only tells or groups."""
    if any(_is(kind, only) for only in (Comment, String.Doc, Text, Punctuation)):
        return ""
    if _is(kind, String):
        return _STRING
    if _is(kind, Number):
        return _NUMBER
    if _is(kind, Name):
        return names.compared(text.removeprefix("@"))
    return "" if text in _GROUPING else text.strip()


def _is(kind: _TokenType, parent: _TokenType) -> bool:
    return kind is parent or kind[: len(parent)] == parent


def windows(found: Sequence[Token], length: int) -> Iterator[tuple[str, int, int]]:
    """Yields each run of `length` tokens as one text, with its first and last lines."""
    views = itertools.tee(found, length)
    for skipped, view in enumerate(views):
        next(itertools.islice(view, skipped, skipped), None)
    for window in zip(*views, strict=False):
        yield " ".join(token.text for token in window), window[0].line, window[-1].line
