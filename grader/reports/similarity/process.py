"""The process that unpacks and parses the code of submissions, which may be hostile.

It is the intake's process with another task. An order holds an entry, an empty folder for its copy,
and the digests of the handed-out files.

Programs become sequences of tokens that renaming, layout and comments do not change.

All names that a program defines become the same token. Other names belong to libraries and stay,
because a program cannot rename them. Descriptions (comments, docstrings, annotations, imports) and
grouping (brackets, commas, dots) are left out. A file that cannot be parsed has no tokens.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from grader.core.names import printable
from grader.core.submission import Unreadable
from grader.core.text import source_text
from grader.intake.entry import Entry
from grader.intake.limits import DEFAULT_LIMITS, Bounds, is_clutter
from grader.intake.process import copied, serve
from grader.intake.programs.notebook import read_notebook, syntax_tree
from grader.reports.similarity.sources import MOST_CHARACTERS, MOST_FILES, MOST_TOKENS

_OWN, _NUMBER, _STRING = "name", "0", "text"
# Imported prefixes: `F.softmax`, `nn.functional.softmax` and `softmax` are the same token.
_PREFIXES = frozenset({"functional", "nn"})
_DESCRIPTIONS = ("annotation", "returns", "type_params", "ctx")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_GROUPING = (
    ast.Module, ast.arguments, ast.Expr, ast.Call, ast.Tuple, ast.List, ast.Subscript, ast.Slice,
    ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare,
)  # fmt: skip


class Token(NamedTuple):
    """A token as it is compared, and its line."""

    text: str
    line: int


def tokens(sources: Sequence[str]) -> list[list[Token]]:
    """Returns the tokens of each file of one program."""
    trees = [*map(syntax_tree, sources)]
    names = _Names()
    for tree in trees:
        names.learn_from(tree)
    return [[*_tokens(tree, names)] for tree in trees]


@dataclass(slots=True)
class _Names:
    """The names in a program: its own, its imports under their local names, and modules."""

    own: set[str] = field(default_factory=set)
    imported: dict[str, str] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)

    def learn_from(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            match node:
                case (
                    ast.Name(id=name, ctx=ast.Store() | ast.Del())
                    | ast.Attribute(attr=name, ctx=ast.Store() | ast.Del())
                    | ast.arg(arg=name)
                    | ast.FunctionDef(name=name)
                    | ast.AsyncFunctionDef(name=name)
                    | ast.ClassDef(name=name)
                    | ast.ExceptHandler(name=str(name))
                ):
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

    def compared(self, name: str) -> str:
        """Returns a name as it is compared; "" for the name of a module."""
        if name in self.own:
            return _OWN
        return "" if name in self.modules else self.imported.get(name, name)


def _tokens(tree: ast.Module, names: _Names) -> Iterator[Token]:
    """Yields the tokens of one file, from the root of its tree on."""
    waiting: list[ast.AST] = [tree]
    line = 1
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
                continue
        line = getattr(node, "lineno", line)
        if text := _compared(node, names):
            yield Token(text, line)
        if isinstance(node, _DEFINITIONS):
            yield Token(_OWN, line)
        parts = [part for name, part in ast.iter_fields(node) if name not in _DESCRIPTIONS]
        listed = (part if isinstance(part, list) else [part] for part in parts)
        below = [one for part in listed for one in part if isinstance(one, ast.AST)]
        waiting += reversed(below)


def _compared(node: ast.AST, names: _Names) -> str:
    """Returns the token of a node; "" if it only describes or groups."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
            return names.compared(name)
        case ast.arg():
            return _OWN
        case ast.AnnAssign():
            return ast.Assign.__name__
        case ast.Constant(value=str() | bytes()):
            return _STRING
        case ast.Constant(value=value):
            return repr(value) if value is None or isinstance(value, bool) else _NUMBER
    return "" if isinstance(node, _GROUPING) else type(node).__name__


def windows(found: Sequence[Token], length: int) -> Iterator[tuple[str, int, int]]:
    """Yields each run of `length` tokens as one text, with its first and last lines."""
    for first in range(len(found) - length + 1):
        window = found[first : first + length]
        lines = [token.line for token in window]
        yield " ".join(token.text for token in window), min(lines), max(lines)


# Tokens in a fingerprint. Shorter fingerprints are in everybody's code; longer ones do not survive
# small changes to a copy. `benchmarks/alike.py` measures both.
LENGTH = 5


def main(descriptor: int, parent: int, bounds: Bounds) -> None:
    """Carries out orders until the client closes the connection."""
    serve(descriptor, parent, bounds, _outcome)


def _outcome(order: Mapping[str, Any]) -> dict[str, Any]:
    folder = copied(Entry.from_json(order["entry"]), Path(order["into"]))
    return {"files": _read(folder, frozenset(order["given"]))}


def _read(folder: Path, given: frozenset[str]) -> Any:
    """Returns the code in a folder without handed-out files, up to the bounds."""
    chosen: list[tuple[str, str, str]] = []
    left = MOST_CHARACTERS
    for name, text in _sources(folder):
        digest = hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()
        is_compared = bool(text.strip()) and digest not in given
        if is_compared and len(text) <= left and len(chosen) < MOST_FILES:
            left -= len(text)
            chosen.append((name, digest, text))
    files, room = [], MOST_TOKENS
    found = tokens([text for *_, text in chosen])
    for (name, digest, text), own in zip(chosen, found, strict=True):
        prints = [[_hash(w), first, last] for w, first, last in windows(own[:room], LENGTH)]
        room -= min(len(own), room)
        files.append((name, digest, text, prints))
    return files


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
