"""Facts on a program, read without running it: its adapters' place, the packages it imports."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from grader.core.names import expects_absence, is_adapter, several
from grader.core.submission import Submission, Unreadable
from grader.intake.archives import ARCHIVES
from grader.intake.limits import CopyLimits, name_as_written
from grader.intake.open_folder import is_file_at, is_folder_at, read_bounded
from grader.intake.programs.notebook import Notebook, read_notebook, syntax_tree

_LONGEST = 1 << 18  # bytes: a syntax tree can take a thousand times its source's memory
_LONGEST_NAME = 1000  # no longer dotted name can lead to a file
_MAY_DEFINE = re.compile(rb"\b(?:run|get)_|\bimport\s*\*")


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """The facts in a file's syntax tree.

    `relative_level` is the number of dots of the deepest relative import (0: none). `imports` are
    the dotted names of absolute imports (`from a.b import c` is `a.b.c`). `adapters` are the names
    of the adapters at the top level.
    """

    relative_level: int = 0
    imports: frozenset[str] = frozenset()
    adapters: frozenset[str] = frozenset()


def read_facts(sources: Iterable[bytes]) -> SourceFacts:
    """Returns the facts of a program in pieces, without those that are too long or unreadable.

    The import of such a piece says later what is wrong with it.
    """
    level = 0
    imports: set[str] = set()
    adapters: set[str] = set()
    left = _LONGEST
    for source in sources:
        if len(source) > left:
            continue
        left -= len(source)
        tree = syntax_tree(source)
        adapters.update(_adapters(tree))
        for name, dots in (one for node in ast.walk(tree) for one in imported(node)):
            level = max(level, dots)
            if not dots and len(name) <= _LONGEST_NAME:
                imports.add(name)
    return SourceFacts(level, frozenset(imports), frozenset(adapters))


def names_no_adapter(source: bytes) -> bool:
    """Returns whether a program can be read, and has no word that begins like an adapter's name.

    With `import *` its names are not known, so that it may have one.
    """
    if len(source) > _LONGEST or _MAY_DEFINE.search(source):
        return False
    return bool(syntax_tree(source).body)


def imported(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yields the dotted names that a statement imports, each with the number of its leading dots.

    Leaves out names from a module whose own name is too long.
    """
    module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
    if isinstance(node, ast.Import | ast.ImportFrom) and len(module) <= _LONGEST_NAME:
        level = node.level if isinstance(node, ast.ImportFrom) else 0
        for alias in node.names:
            yield f"{module}.{alias.name}".removeprefix("."), level


def _adapters(tree: ast.Module) -> set[str]:
    """Returns the adapters, including those in a top-level `if` or `try`, and `run_x = …`."""
    names: set[str] = set()
    statements: list[ast.AST] = list(tree.body)
    while statements:
        node = statements.pop()
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.If | ast.Try | ast.ExceptHandler | ast.With):
            statements.extend(ast.iter_child_nodes(node))
    return {name for name in names if is_adapter(name)}


_NESTED = 4  # folders that hold nothing but one folder


@dataclass(frozen=True, slots=True)
class Located:
    """The adapters' file: the submission's root, the file's path below it, and its facts.

    `notebook` is its content if it is a notebook, and None otherwise.
    """

    root: Path
    file: PurePosixPath
    facts: SourceFacts
    notebook: Notebook | None = None
    note: str | None = None


def locate(top: Path, adapters: str, limits: CopyLimits) -> Located:
    """Finds the adapters at the top of a copy, or else in the folders nearest to the top.

    Without such a file, takes the only notebook with adapters, or the only file with adapters whose
    name resembles theirs. If there are no folders, the only Python file also counts. A folder that
    is all that the top holds counts as the top.

    Raises:
        Unreadable: if there are no adapters, or several files could be meant.
    """
    tops = list(_tops(top))
    if not any(tops[-1].iterdir()):
        raise Unreadable("it is empty, or holds nothing that the grader reads")
    for root in tops:
        if (root / adapters).is_file():
            return _read(root, PurePosixPath(adapters), limits)
    root = tops[-1]
    for folders in _by_depth(root):
        found = [folder / adapters for folder in folders if (folder / adapters).is_file()]
        if found:
            places = [PurePosixPath(file.relative_to(root)) for file in found]
            return _best([_read(root, place, limits) for place in places], adapters)
    notebooks = _with_adapters(root, "*.ipynb", limits)
    if len(notebooks) == 1:
        return notebooks[0]
    wanted = PurePosixPath(adapters)
    renamed: list[Located] = []
    if wanted.suffix == ".py" and not notebooks:
        # Browsers and people rename a file that they save again: `adapters (1).py`.
        alike = wanted.stem.casefold().removesuffix("s")
        renamed = _with_adapters(root, str(wanted.with_name("*.py")), limits, alike)
        # A folder may have that name.
        renamed = [r for r in renamed if not (root / r.file).with_name(wanted.name).exists()]
    if len(renamed) == 1:
        return _under_its_name(renamed[0], wanted.name)
    if not notebooks and (alone := _only_python_file(root, limits)) is not None:
        return alone if "." not in alone.file.stem else _under_its_name(alone, wanted.name)
    kind, several_found = ("file", renamed) if renamed else ("notebook", notebooks)
    names = [str(one.file) for one in several_found]
    raise Unreadable(_nothing_found(root, adapters, kind, names))


def _tops(top: Path) -> Iterator[Path]:
    yield top
    for _ in range(_NESTED):
        entries = list(top.iterdir())
        if len(entries) != 1 or not entries[0].is_dir():
            return
        top = entries[0]
        yield top


def _by_depth(root: Path) -> Iterator[list[Path]]:
    """Yields the folders of each level, from the root down."""
    folders = [root]
    while folders:
        yield folders
        folders = [path for one in folders for path in sorted(one.iterdir()) if path.is_dir()]


def _read(root: Path, file: PurePosixPath, limits: CopyLimits) -> Located:
    if file.suffix.lower() == ".ipynb":
        content = read_bounded(root / file, limits.notebooks.bytes_each)
        notebook = read_notebook(content, limits.source)
        facts = read_facts(cell.encode("utf-8", "replace") for cell in notebook.cells)
        if not facts.adapters:  # all adapters may be in files that cells write
            written = read_facts(one.text.encode("utf-8", "replace") for one in notebook.files)
            facts = replace(facts, adapters=written.adapters)
        return Located(root, file, facts, notebook)
    content = read_bounded(root / file, limits.source.bytes_each)
    return Located(root, file, read_facts([content]))


def _best(found: list[Located], adapters: str) -> Located:
    most = max(len(candidate.facts.adapters) for candidate in found)
    best = [candidate for candidate in found if len(candidate.facts.adapters) == most]
    names = [str(candidate.file) for candidate in found]
    if len(best) > 1:
        raise Unreadable(
            f"{adapters} is there more than once ({several(names)}); hand in one of them, or say "
            "which with --adapters"
        )
    if len(found) == 1:
        return best[0]
    chosen = best[0]
    note = f"{chosen.file} was taken, which has the most adapters among {several(names)}."
    return replace(chosen, note=note)


def _with_adapters(root: Path, pattern: str, limits: CopyLimits, word: str = "") -> list[Located]:
    """Returns the readable files with adapters that lie nearest to the top, and fit a pattern.

    Their names have a `word` in them, whatever its case.
    """
    for folders in _by_depth(root):
        found = []
        for file in (file for one in folders for file in sorted(one.glob(pattern))):
            if file.is_file() and word in file.stem.casefold():
                with contextlib.suppress(Unreadable):
                    found.append(_read(root, PurePosixPath(file.relative_to(root)), limits))
        if found := [one for one in found if one.facts.adapters]:
            return found
    return []


def _under_its_name(found: Located, name: str) -> Located:
    """Gives a file of another name the adapters' name as well, under which it is imported."""
    os.link(found.root / found.file, (found.root / found.file).with_name(name))
    note = f"There is no {name}: {several([str(found.file)])} was taken for it."
    return replace(found, file=found.file.with_name(name), note=note)


def _only_python_file(root: Path, limits: CopyLimits) -> Located | None:
    """Returns the only Python file, under any name, if it defines adapters."""
    is_alone = len([*root.glob("*.py")]) == 1 and not any(path.is_dir() for path in root.iterdir())
    return next(iter(_with_adapters(root, "*.py", limits)), None) if is_alone else None


def _nothing_found(root: Path, adapters: str, kind: str, found: list[str]) -> str:
    if found:
        return (
            f"there is no {adapters}, and more than one {kind} defines adapters "
            f"({several(found)}); hand in one of them, or say which with --adapters"
        )
    there = {path.name for path in root.iterdir()}
    there -= {written for name in there if (written := name_as_written(name)) != name}
    archives = sorted(name for name in there if name.lower().endswith(ARCHIVES))
    closed = f"; not opened: {several(archives)} (hand in the files themselves)" if archives else ""
    return f"there is no {adapters} in any folder of it; it holds {several(sorted(there))}{closed}"


_MOST_FILES = 300
_LONGEST_FILE = 1 << 17  # bytes
_LONGEST_PACKAGE = 100
# The worker gives stubs of these to notebooks; `google` is for Colab.
_OF_NOTEBOOKS = ("IPython", "google")


def read_needs(submission: Submission) -> frozenset[str]:
    """Follows the imports of the submission's adapters from file to file; runs nothing.

    All cells of a notebook count: its folder of cells is there only if the adapters run it.
    A module is not needed if its absence is expected, or if only type checkers import it.
    """
    root = submission.root
    folders = [root / path for path in submission.import_paths]
    cells = sorted(root.rglob("*.ipynb/cell *"))
    own = _own_names(root, folders) | set(_OF_NOTEBOOKS if cells else ())
    waiting, seen = [*cells, root / submission.adapters], set[Path]()
    imported: set[str] = set()
    while waiting and len(seen) < _MOST_FILES:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        for name, level in _imports(file):
            bases = [*file.parents][level - 1 : level] if level else folders
            inside = [base for base in bases if base.is_relative_to(root)]
            found = list(_files(inside, name.split(".")))
            waiting += found
            top = name.partition(".")[0]
            if not (found or level or top in own or top in sys.stdlib_module_names):
                imported.add(top)
    return frozenset(name for name in imported if len(name) <= _LONGEST_PACKAGE)


def _own_names(root: Path, folders: Sequence[Path]) -> set[str]:
    """Returns the names of modules at the root, on the import paths, or one folder down."""
    below = (path for path in root.iterdir() if path.is_dir())
    there = [folder for folder in (root, *folders, *below) if folder.is_dir()]
    return {path.stem for folder in there for path in folder.iterdir()}


def _files(folders: Sequence[Path], parts: Sequence[str]) -> Iterator[Path]:
    """Yields the files that run when a module is imported, including those of its packages."""
    for place in folders:
        for part in parts:
            place = place / part
            yield from filter(is_file_at, (place.with_suffix(".py"), place / "__init__.py"))
            if not is_folder_at(place):  # names of any number may follow
                break


def _imports(file: Path) -> Iterator[tuple[str, int]]:
    """Yields the dotted names that a file imports, each with the number of its leading dots."""
    try:
        source = read_bounded(file, _LONGEST_FILE)
    except OSError:
        return
    waiting: list[ast.AST] = [syntax_tree(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from imported(node)
        elif isinstance(node, ast.Try | ast.With) and expects_absence(node):
            waiting += (one for one in ast.iter_child_nodes(node) if one not in node.body)
        elif isinstance(node, ast.If) and any(map(_is_type_checking, ast.walk(node.test))):
            is_negated = isinstance(node.test, ast.UnaryOp)
            waiting += node.body if is_negated else node.orelse
        else:
            waiting += ast.iter_child_nodes(node)


def _is_type_checking(node: ast.AST) -> bool:
    return "TYPE_CHECKING" in (getattr(node, "id", ""), getattr(node, "attr", ""))
