"""The source files of a submission, and the lines that a call depends on."""

from __future__ import annotations

import ast
import contextlib
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.core.names import is_adapter
from grader.core.wire.trials import Passed
from grader.explain.rewriting.program.source import Function, names_in
from grader.explain.rewriting.slips import NO_SLIPS, Slips

# A compiled pattern uses a table, which uses a class: how many such definitions are followed.
_MOST_DEFINITIONS = 4
_MOST_FILES = 400
# In bytes: a longer file is not edited.
_LONGEST = 200_000
# In characters of other files, for the edits of one file.
_MOST_READ = 400_000


@dataclass(frozen=True, slots=True)
class EditableFile:
    """A file of the submission, by its path below the root, and its top-level statements.

    `handed_out` are the lines of its adapters that nobody changed.
    """

    name: str
    text: str
    body: tuple[ast.stmt, ...]
    handed_out: frozenset[int]


class EditableSources:
    """The Python sources below a submission's root; only these can be edited.

    A worker may invent the lines that it reports; only lines of these files count. `slips` holds
    the rules and the words for edits.
    """

    def __init__(self, files: Mapping[str, EditableFile], slips: Slips = NO_SLIPS) -> None:
        self._files = files
        self.slips = slips

    @classmethod
    def below(
        cls, root: Path, slips: Slips = NO_SLIPS, contract: Path | None = None
    ) -> EditableSources:
        """Returns all sources below a root, and notebooks' cells, except very large ones."""
        paths = sorted([*root.rglob("*.py"), *root.rglob("*.ipynb/*")])
        return cls.of(root, paths, slips, contract)

    @classmethod
    def of(
        cls,
        root: Path,
        paths: Iterable[Path],
        slips: Slips = NO_SLIPS,
        contract: Path | None = None,
    ) -> EditableSources:
        """Returns the sources at the given paths; `contract` holds the adapters as handed out."""
        files: dict[str, EditableFile] = {}
        known = contract.read_text(encoding="utf-8") if contract and contract.is_file() else ""
        given = {code for code, _ in _in_adapters(ast.parse(known).body)}
        for path in paths:
            if len(files) == _MOST_FILES:
                break
            name = path.relative_to(root).as_posix()
            # The parser raises MemoryError for source that is nested too deeply.
            with contextlib.suppress(OSError, ValueError, SyntaxError, RecursionError, MemoryError):
                if path.stat().st_size <= _LONGEST:
                    text = path.read_text(encoding="utf-8-sig")
                    body = tuple(ast.parse(text).body)
                    spans = (_span(node) for code, node in _in_adapters(body) if code in given)
                    files[name] = EditableFile(name, text, body, frozenset().union(*spans))
        return cls(files, slips)

    @property
    def texts(self) -> dict[str, str]:
        """Returns the text of each file."""
        return {name: one.text for name, one in self._files.items()}

    @functools.cached_property
    def classes(self) -> list[ast.ClassDef]:
        """Returns the classes of all files."""
        return [node for node in self._nodes() if isinstance(node, ast.ClassDef)]

    @functools.cached_property
    def calls(self) -> list[ast.Call]:
        """Returns the calls in all files."""
        return [node for node in self._nodes() if isinstance(node, ast.Call)]

    def _nodes(self) -> Iterator[ast.AST]:
        tops = (top for one in self._files.values() for top in one.body)
        return (node for top in tops for node in ast.walk(top))

    def text(self, file: str) -> str:
        """Returns the text of one of the files."""
        return self._files[file].text

    def elsewhere(self, file: str) -> list[str]:
        """Returns the texts of the files that a file imports, and of the others in its subfolder.

        Files in the top folder count only if they are imported. Leaves out what exceeds a bound.
        """
        imported = set(_imported(self._files[file].body))
        found: list[str] = []
        for name, other in self._files.items():
            path = PurePosixPath(name)
            near = path.parent == PurePosixPath(file).parent != PurePosixPath()
            left = _MOST_READ - sum(map(len, found))
            is_read = near or {path.stem, path.parent.name} & imported
            if name != file and is_read and len(other.text) <= left:
                found.append(other.text)
        return found

    def line(self, file: str, number: int) -> str:
        """Returns a line of a file, stripped, or "" if there is no such line."""
        lines = self._files[file].text.split("\n") if file in self._files else []
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def node(self, file: str, number: int) -> Function | None:
        """Returns the innermost function around a line; None without one, or for unknown files."""
        return self._functions.get((file, number))

    @functools.cached_property
    def _functions(self) -> dict[tuple[str, int], Function]:
        found: dict[tuple[str, int], Function] = {}
        for name, one in self._files.items():
            # A walk meets a function before those in it.
            for node in (part for top in one.body for part in ast.walk(top)):
                if isinstance(node, Function):
                    found |= {(name, line): node for line in _span(node)}
        return found

    def concerned(self, passed: Iterable[Passed]) -> dict[str, set[int]]:
        """Returns, by file, the lines that calls ran, and the top-level lines that these use.

        Leaves out the lines of adapters that are as they were handed out: no student wrote them.
        """
        lines: dict[str, set[int]] = {}
        for one in passed:
            if one.file in self._files and one.lines:
                lines.setdefault(one.file, set()).update(one.lines)
        used: set[str] = set()
        for name, own in lines.items():
            for node in self._files[name].body:
                if own & _span(node):
                    used |= _used(node)
                    own |= _outside_bodies(node)
        statements = [(name, node) for name, file in self._files.items() for node in file.body]
        for _ in range(_MOST_DEFINITIONS):
            for name, node in statements:
                if used & _bound(node):
                    lines.setdefault(name, set()).update(_outside_bodies(node))
                    used |= _used(node)
        return {name: own - self._files[name].handed_out for name, own in lines.items()}


def _imported(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Yields the parts of the dotted names that a file imports at its top level."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for one in node.names:
                yield from one.name.split(".")
            if isinstance(node, ast.ImportFrom):
                yield from (node.module or "").split(".")


def _in_adapters(body: Iterable[ast.stmt]) -> Iterator[tuple[tuple[str, str], ast.stmt]]:
    """Yields each statement of an adapter, after the adapter's name and the code without layout."""
    for one in body:
        if isinstance(one, Function) and is_adapter(one.name):
            yield from (((one.name, ast.unparse(node)), node) for node in one.body)


def _span(node: ast.stmt) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _outside_bodies(node: ast.stmt) -> set[int]:
    """Returns a statement's lines outside function bodies; none for a function without defaults.

    The mistake may be in a default value, a class's base, or the name of a method.
    """
    if isinstance(node, Function) and not (node.args.defaults or node.args.kw_defaults):
        return set()
    functions = (one for one in ast.walk(node) if isinstance(one, Function))
    bodies = (_span(part) for one in functions for part in one.body)
    return _span(node).difference(*bodies)


def _used(node: ast.stmt) -> set[str]:
    """Returns the names and the attributes' names in a statement."""
    return {*names_in(node)} | {
        one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)
    }


def _bound(node: ast.stmt) -> set[str]:
    """Returns the names that an assignment or a class definition binds."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    elif isinstance(node, ast.ClassDef):
        return {node.name}
    return {name for target in targets for name in names_in(target)}
