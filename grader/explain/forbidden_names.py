"""Finds forbidden names in the source of a submission without running it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from grader.core.wire.calls import MAX_USES, Use
from grader.explain.deadline import NEVER, Deadline
from grader.intake.open_folder import read_bounded
from grader.intake.programs.notebook import syntax_tree

_LONGEST = 1 << 18  # bytes of one program; its syntax tree can take a thousand times as many
_LONGEST_TOGETHER = 1 << 20
_DEEPEST = 16  # dots in a name


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
        aliases = _aliases(trees, forbidden)
        for file, tree in zip(files, trees, strict=True):
            place = file.relative_to(root).as_posix()
            for node in ast.walk(tree):
                name = _dotted(node, aliases)
                if name is not None and name in forbidden and isinstance(node, ast.expr):
                    found[Use(name, place, node.lineno)] = None
    return tuple(sorted(found, key=lambda use: (use.file, use.line, use.name))[:MAX_USES])


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


def _aliases(trees: Iterable[ast.AST], forbidden: Collection[str]) -> dict[str, str]:
    """Returns the full names of imports and of assigned parts of imports, by alias.

    An alias that any line of the program binds to something else is left out.
    """
    # A forbidden name, and the packages, modules and classes that lead to it.
    leads = {
        ".".join(parts[:count])
        for parts in (name.split(".") for name in forbidden)
        for count in range(1, len(parts) + 1)
    }
    bound = [binding for tree in trees for binding in _bindings(tree, leads)]
    imported = _unambiguous((name, said) for name, said in bound if not isinstance(said, ast.expr))
    return _unambiguous(
        (name, _dotted(said, imported) if isinstance(said, ast.expr) else said)
        for name, said in bound
    )


def _unambiguous(bound: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    meanings: dict[str, set[str | None]] = {}
    for name, meaning in bound:
        meanings.setdefault(name, set()).add(meaning)
    return {name: own for name, (own, *others) in meanings.items() if own and not others}


def _dotted(node: ast.AST, aliases: Mapping[str, str]) -> str | None:
    """Returns the full dotted name of an expression's value, or None if it is unclear."""
    parts: list[str] = []
    for _ in range(_DEEPEST):
        match node:
            case ast.Name(name, ast.Load()):
                return ".".join([aliases[name], *parts[::-1]]) if name in aliases else None
            case ast.Attribute(owner, attribute) | ast.Call(
                ast.Name("getattr"), [owner, ast.Constant(str(attribute)), *_]
            ):
                parts.append(attribute)
                node = owner
            case _:
                return None
    return None


def _bindings(tree: ast.AST, leads: Collection[str]) -> Iterator[tuple[str, str | ast.expr | None]]:
    """Yields each bound name with its meaning; None if that is nothing that leads on."""
    waiting = [tree]
    while waiting:
        match waiting.pop():
            case ast.Import(names):
                for alias in names:
                    top = alias.name.partition(".")[0]
                    meaning = alias.name if alias.asname else top
                    yield alias.asname or top, meaning if meaning in leads else None
            case ast.ImportFrom(module, [ast.alias("*")], 0):
                owners = (name.rpartition(".") for name in leads)
                yield from (
                    (last, f"{module}.{last}") for owner, _, last in owners if owner == module
                )
            case ast.ImportFrom(module, names, level):
                is_lead = not level and module in leads
                for alias in names:
                    yield alias.asname or alias.name, f"{module}.{alias.name}" if is_lead else None
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(
                ast.Name(name), _, ast.expr() as value
            ):
                # An absent import is often set to None.
                if not (isinstance(value, ast.Constant) and value.value is None):
                    yield name, value
                waiting.append(value)
            case ast.Name(name, ast.Store()) | ast.arg(name):
                yield name, None
            case node:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    yield node.name, None
                waiting += ast.iter_child_nodes(node)
