"""The process that unpacks and parses the code of submissions, which may be hostile.

It is the intake's process with another task. An order holds an entry, an empty folder for its copy,
the digests of the handed-out files, and whether to return the texts.

Programs become sequences of tokens that renaming, layout and comments do not change.

All names that a program defines become the same token. Other names belong to libraries and stay,
because a program cannot rename them. Descriptions (comments, docstrings, annotations, imports) and
grouping (brackets, commas, dots) are left out.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import keyword
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Name, Number, Punctuation, String, Text, _TokenType

from grader.core.names import printable
from grader.core.submission import Unreadable
from grader.core.text import source_text
from grader.intake.entry import Entry
from grader.intake.limits import DEFAULT_LIMITS, Bounds, is_clutter
from grader.intake.process import copied, serve
from grader.intake.programs.notebook import read_notebook, syntax_tree
from grader.reports.similarity.sources import (
    LONGEST_LINE,
    MOST_CHARACTERS,
    MOST_FILES,
    MOST_TOKENS,
)

_OWN, _NUMBER, _STRING = "name", "0", "text"
_LEXER = PythonLexer(stripnl=False, ensurenl=False)
_GROUPING = frozenset("()[]{},:.;")
# Imported prefixes: `F.softmax`, `nn.functional.softmax` and `softmax` are the same token.
_PREFIXES = frozenset({"functional", "nn"})
_Position = tuple[int, int]


class Token(NamedTuple):
    """A token as it is compared, and its line."""

    text: str
    line: int


def tokens(sources: Sequence[str]) -> list[list[Token]]:
    """Returns the tokens of each file of one program, whether it can be parsed or not."""
    trees = [syntax_tree(source) for source in sources]
    names = _Names()
    for source, tree in zip(sources, trees, strict=True):
        names.learn_from(tree) if tree.body else names.guess_from(source)
    return [
        [*_tokens(source, _description_spans(tree, source), names)]
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
                case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
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
        """Guesses a program's own names without a parser: definitions, and names before `=`."""
        before = ""
        for _, kind, text in _LEXER.get_tokens_unprocessed(source):
            if _is(kind, Name.Function) or _is(kind, Name.Class):
                self.own.add(text)
            elif text == "=" and before:
                self.own.add(before)
            if text.strip():
                before = text if kind is Name else ""

    def compared(self, name: str) -> str:
        """Returns a name as it is compared; "" for the name of a module."""
        if keyword.iskeyword(name):
            return name
        if name in self.own:
            return _OWN
        return "" if name in self.modules else self.imported.get(name, name)


def _description_spans(tree: ast.Module, source: str) -> Sequence[tuple[_Position, _Position]]:
    """Returns the spans of imports, docstrings and annotations, in lines and bytes."""
    found: list[tuple[_Position, _Position]] = []
    lines = source.split("\n")
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
                found.append(((node.lineno, node.col_offset), _end(node)))
            case ast.arg(annotation=ast.expr() as annotation):
                found.append(
                    ((node.lineno, node.col_offset + len(node.arg.encode())), _end(annotation))
                )
            case ast.AnnAssign():
                found.append((_end(node.target), _end(node.annotation)))
            case (
                ast.FunctionDef(returns=ast.expr() as annotation)
                | ast.AsyncFunctionDef(returns=ast.expr() as annotation)
            ):
                # Include the arrow before it, which the lexer splits into two tokens.
                line = "".join(lines[annotation.lineno - 1 : annotation.lineno])
                before = line.encode("utf-8", "surrogatepass")[: annotation.col_offset]
                arrow = max(before.rfind(b"->"), 0)
                found.append(
                    ((annotation.lineno, arrow or annotation.col_offset), _end(annotation))
                )
    return sorted(found)


def _end(node: ast.expr | ast.stmt) -> _Position:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _tokens(
    source: str, descriptions: Sequence[tuple[_Position, _Position]], names: _Names
) -> Iterator[Token]:
    """Yields the tokens of one file outside of the spans of `descriptions`, which are sorted."""
    place, line, start = 0, 1, 0
    in_text = False
    for offset, kind, text in _LEXER.get_tokens_unprocessed(source):
        passed = source.count("\n", start, offset)
        if passed:
            line, start = line + passed, source.rindex("\n", start, offset) + 1
        here = line, len(source[start:offset].encode("utf-8", "surrogatepass"))
        while place < len(descriptions) and descriptions[place][1] <= here:
            place += 1
        skipped = place < len(descriptions) and descriptions[place][0] <= here
        compared = "" if skipped else _compared(kind, text, names)
        if compared and text.startswith("@") and _is(kind, Name):  # a decorator, or a product
            yield Token("@", line)
        # The lexer splits a string into quotes, contents and escapes.
        if compared and not (in_text and compared == _STRING):
            yield Token(compared, line)
        if text.strip():
            in_text = compared == _STRING


def _compared(kind: _TokenType, text: str, names: _Names) -> str:
    """Returns a token as it is compared; "" if it only describes or groups."""
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


# Tokens in a fingerprint. Shorter fingerprints are in everybody's code; longer ones do not survive
# small changes to a copy. `benchmarks/alike.py` measures both.
LENGTH = 5


def main(descriptor: int, parent: int, bounds: Bounds) -> None:
    """Carries out orders until the client closes the connection."""
    serve(descriptor, parent, bounds, _outcome)


def _outcome(order: Mapping[str, Any]) -> dict[str, Any]:
    folder = copied(Entry.from_json(order["entry"]), Path(order["into"]))
    return {"sources": _read(folder, frozenset(order["given"]), bool(order["texts"]))}


def _read(folder: Path, given: frozenset[str], texts: bool) -> Any:
    """Returns the code in a folder without handed-out files, up to the bounds."""
    chosen: list[tuple[str, str, str]] = []
    left, partly = MOST_CHARACTERS, False
    for name, text in _sources(folder):
        digest = hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()
        if digest in given or not text.strip():
            continue
        has_a_long_line = any(len(line) > LONGEST_LINE for line in text.split("\n"))
        if len(text) > left or len(chosen) == MOST_FILES or has_a_long_line:
            partly = True
            continue
        left -= len(text)
        chosen.append((name, digest, text))
    files, room = [], MOST_TOKENS
    for (name, digest, text), found in zip(
        chosen, tokens([text for *_, text in chosen]), strict=True
    ):
        partly = partly or len(found) > room
        prints = [[_hash(w), first, last] for w, first, last in windows(found[:room], LENGTH)]
        room -= min(len(found), room)
        files.append((name, digest, text if texts else "", prints))
    return {"files": files, "partly": partly}


def _sources(folder: Path) -> Iterator[tuple[str, str]]:
    """Yields the names and texts of files and of notebook cells, in the order of their paths."""
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if path.suffix not in (".py", ".ipynb") or not path.is_file() or is_clutter(place.parts):
            continue
        name, content = printable(str(place)), path.read_bytes()
        if path.suffix == ".py":
            yield name, source_text(content)
            continue
        try:
            cells = read_notebook(content, DEFAULT_LIMITS.source).sources
        except Unreadable:
            continue
        yield from ((f"{name}/cell {n}", cell) for n, cell in enumerate(cells, 1))


def _hash(window: str) -> int:
    """Returns a hash below 2^63 that is the same on every machine and in every run."""
    digest = hashlib.blake2b(window.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
