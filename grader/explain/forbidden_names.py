"""Finds forbidden names in the source of a submission without running it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from grader.core.wire.calls import MAX_USES, Use
from grader.explain.deadline import NEVER, Deadline
from grader.intake.open_folder import read_bounded
from grader.intake.programs.notebook import syntax_tree

_LONGEST = 1 << 18  # bytes of one program; its syntax tree can take a thousand times as many
_LONGEST_TOGETHER = 1 << 20
_DEEPEST = 16  # dots and assignments between a name and its meaning
_MOST_SCOPES = 32  # nested scopes around a name
_LONGEST_NAME = 300  # characters, dots included

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Meaning = str | ast.expr | None


def find_mentions(
    root: Path, forbidden: Collection[str], deadline: Deadline = NEVER
) -> tuple[Use, ...]:
    """Returns the lines of Python files below `root` that name something forbidden.

    Uses through any alias count; an import alone does not. Files that this Python cannot parse,
    very long files, and files not reached by the deadline are skipped.
    """
    words = {name.rpartition(".")[2] for name in forbidden}
    either = b"|".join(re.escape(word.encode()) for word in sorted(words))
    word = re.compile(rb"(?<![A-Za-z0-9_])(?:%b)(?![A-Za-z0-9_])" % either)
    found: dict[Use, None] = {}
    left = _LONGEST_TOGETHER
    for files in _programs(root) if forbidden else ():
        sources = list(_read(files))
        if len(sources) < len(files) or not any(map(word.search, sources)):
            continue
        left -= sum(map(len, sources))
        if left < 0 or deadline.passed:
            break
        trees = [syntax_tree(source) for source in sources]
        if not any(_may_mean(node, words) for tree in trees for node in ast.walk(tree)):
            continue
        program = _Scope([statement for tree in trees for statement in tree.body], forbidden)
        for file, tree in zip(files, trees, strict=True):
            place = file.relative_to(root).as_posix()
            for name, line in _named(tree, program, forbidden):
                found[Use(name, place, line)] = None
    return tuple(sorted(found, key=lambda use: (use.file, use.line, use.name))[:MAX_USES])


def _may_mean(node: ast.AST, words: Collection[str]) -> bool:
    """Returns whether an import or an attribute may name something forbidden.

    `words` holds the last parts of the forbidden names. A program without such a node uses no
    forbidden name.
    """
    if isinstance(node, ast.alias):
        return node.name == "*" or any(part in words for part in node.name.split("."))
    attribute = _attribute(node)
    return attribute is not None and attribute[1] in words


def _programs(root: Path) -> Iterator[list[Path]]:
    """Yields lists of files that share one namespace: a module alone, or a notebook's cells."""
    for folder, folders, names in os.walk(root):
        folders.sort()
        files = [Path(folder, name) for name in sorted(names)]
        if folder.endswith(".ipynb"):
            yield files
        else:
            yield from ([file] for file in files if file.suffix == ".py")


def _read(files: Iterable[Path]) -> Iterator[bytes]:
    """Yields the sources of a program's files, and stops at one that is unreadable or too long."""
    left = _LONGEST
    for file in files:
        try:
            source = read_bounded(file, left + 1)
        except OSError:
            return
        left -= len(source)
        if left < 0:
            return
        yield source


class _Scope:
    """The meanings of names in a module, class or function, as far as the source shows them."""

    def __init__(
        self,
        body: Sequence[ast.AST],
        forbidden: Collection[str],
        outer: _Scope | None = None,
        is_class: bool = False,
    ) -> None:
        # A method does not see the names of its class.
        skipped = outer is not None and outer.is_class
        self.outer: _Scope | None = outer.outer if outer is not None and skipped else outer
        self.is_class: bool = is_class
        self._meanings: dict[str, list[_Meaning]] = {}
        self._known: dict[str, str | None] = {}
        for name, meaning in _bindings(body, forbidden):
            self._meanings.setdefault(name, []).append(meaning)

    def dotted(self, expression: ast.AST, depth: int = _DEEPEST) -> str | None:
        """Returns the full dotted name of an expression's value, or None if it is unclear."""
        if depth <= 0:
            return None
        if isinstance(expression, ast.Name):
            scope = self._scope_of(expression.id)
            return None if scope is None else scope._dotted_name(expression.id, depth)
        attribute = _attribute(expression)
        if attribute is None:
            return None
        owner = self.dotted(attribute[0], depth - 1)
        return None if owner is None else _joined(owner, attribute[1])

    def _scope_of(self, name: str) -> _Scope | None:
        """Returns the innermost scope that binds a name; None if there is none within a bound."""
        scope: _Scope | None = self
        for _ in range(_MOST_SCOPES):
            if scope is None or name in scope._meanings:
                return scope
            scope = scope.outer
        return None

    def _dotted_name(self, name: str, depth: int) -> str | None:
        if name not in self._known:
            self._known[name] = None  # ends the recursion of a name that is bound to itself
            meanings = {
                self.dotted(meaning, depth - 1) if isinstance(meaning, ast.expr) else meaning
                for meaning in self._meanings[name]
                if not (isinstance(meaning, ast.Constant) and meaning.value is None)
            }
            self._known[name] = meanings.pop() if len(meanings) == 1 else None
        return self._known[name]


def _named(
    tree: ast.Module, program: _Scope, forbidden: Collection[str]
) -> Iterator[tuple[str, int]]:
    """Yields each use of a forbidden name in a file, with its line."""
    words = {name.rpartition(".")[2] for name in forbidden}
    waiting: list[tuple[ast.AST, _Scope]] = [(statement, program) for statement in tree.body]
    while waiting:
        node, scope = waiting.pop()
        if isinstance(node, _Function | ast.ClassDef):
            is_class = isinstance(node, ast.ClassDef)
            scope = _Scope(list(ast.iter_child_nodes(node)), forbidden, scope, is_class)
        attribute = _attribute(node)
        is_read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        if (attribute and attribute[1] in words) or is_read:
            name = scope.dotted(node)
            if name is not None and name in forbidden and isinstance(node, ast.expr):
                yield name, node.lineno
        waiting += [(child, scope) for child in ast.iter_child_nodes(node)]


def _attribute(node: ast.AST) -> tuple[ast.expr, str] | None:
    """Returns the object and the attribute of `a.b` or `getattr(a, "b")`."""
    if isinstance(node, ast.Attribute):
        return node.value, node.attr
    match node:
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(name)), *_]):
            return owner, name
    return None


def _bindings(
    body: Iterable[ast.AST], forbidden: Collection[str]
) -> Iterator[tuple[str, _Meaning]]:
    """Yields each bound name with its meaning, or with None if the source does not show it."""
    waiting = list(body)
    while waiting:
        match waiting.pop():
            case ast.Import(names=names):
                for alias in names:
                    top = alias.name.partition(".")[0]
                    yield (alias.asname, alias.name) if alias.asname else (top, top)
            case ast.ImportFrom(module=module, names=names, level=level):
                yield from _imported(None if level else module, names, forbidden)
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                yield name, None
            case ast.Lambda():
                pass
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                yield name, value
                waiting.append(value)
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name, None
            case node:
                waiting += ast.iter_child_nodes(node)


def _imported(
    module: str | None, names: Sequence[ast.alias], forbidden: Collection[str]
) -> Iterator[tuple[str, _Meaning]]:
    for alias in names:
        if alias.name == "*":
            owners = (name.rpartition(".") for name in forbidden)
            yield from ((last, f"{module}.{last}") for owner, _, last in owners if owner == module)
        else:
            yield alias.asname or alias.name, module and _joined(module, alias.name)


def _joined(owner: str, name: str) -> str | None:
    """Returns a dotted name, or None if it is longer than any forbidden name."""
    return f"{owner}.{name}" if len(owner) + len(name) < _LONGEST_NAME else None
