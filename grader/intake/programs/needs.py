"""The packages that a submission imports, and those that it declares."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from grader.core.names import expects_absence
from grader.core.submission import Needs, Submission
from grader.intake.open_folder import is_file_at, is_folder_at, read_bounded
from grader.intake.programs.notebook import syntax_tree
from grader.intake.programs.source_facts import table, toml_tables

_LONGEST = 1 << 20  # bytes
_LONGEST_LINE = 300
_MOST_PACKAGES = 200
_OF_CONDA = re.compile(r"\s*-\s*([A-Za-z0-9][A-Za-z0-9._-]{0,98})\s*(?:$|[=<>~!#\[ ])")


def declared_packages(root: Path) -> frozenset[str]:
    """Returns the names of the distributions declared at the root, normalised as on PyPI.

    Unreadable files give none. A lock file adds nothing to the `pyproject.toml` that it is for.
    """
    readers = {
        "pyproject.toml": _of_pyproject,
        "requirements.txt": _of_requirements,
        "environment.yml": _of_conda,
    }
    names: set[str] = set()
    for file, read in readers.items():
        try:
            text = read_bounded(root / file, _LONGEST).decode("utf-8-sig", "replace")
            names.update(map(canonicalize_name, read(text)))
        except (OSError, ValueError, RecursionError, MemoryError):
            continue
    return frozenset(sorted(names - {"python", "pip"})[:_MOST_PACKAGES])


def _of_pyproject(text: str) -> Iterator[str]:
    document = toml_tables(text)
    lines = table(document.get("project")).get("dependencies")
    for line in lines if isinstance(lines, list) else ():
        yield from _named(line)
    poetry = table(table(document.get("tool")).get("poetry"))
    yield from (name for name in table(poetry.get("dependencies")) if list(_named(name)))


# A comment, an option such as a hash, or a line that goes on. Without the look behind, a long row
# of spaces would be searched from each of them.
_AFTER_NAME = re.compile(r"(?<!\s)\s+(?:#|--|\\$)")


def _of_requirements(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if not line.lstrip().startswith(("-", "#")):
            yield from _named(_AFTER_NAME.split(line, maxsplit=1)[0].strip())


def _of_conda(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if found := _OF_CONDA.match(line[:_LONGEST_LINE]):
            yield found[1]


def _named(requirement: Any) -> Iterator[str]:
    """Yields the distribution's name, if the text is a requirement."""
    if isinstance(requirement, str) and 0 < len(requirement) <= _LONGEST_LINE:
        try:
            yield Requirement(requirement).name
        except InvalidRequirement:
            return


_MOST_FILES = 300
_LONGEST_FILE = 1 << 17  # bytes
_LONGEST_NAME = 100
# The worker gives stubs of these to notebooks; `google` is for Colab.
_OF_NOTEBOOKS = ("IPython", "google", "import_ipynb", "importnb", "ipynb", "nbimporter")


def read_needs(submission: Submission) -> Needs:
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
    names = frozenset(name for name in imported if len(name) <= _LONGEST_NAME)
    return Needs(names, declared_packages(root))


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
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = f"{node.module}." if node.module else ""
            yield from ((f"{module}{alias.name}", node.level) for alias in node.names)
        elif isinstance(node, ast.Try | ast.With) and expects_absence(node):
            waiting += (one for one in ast.iter_child_nodes(node) if one not in node.body)
        elif isinstance(node, ast.If) and any(map(_is_type_checking, ast.walk(node.test))):
            is_negated = isinstance(node.test, ast.UnaryOp)
            waiting += node.body if is_negated else node.orelse
        else:
            waiting += ast.iter_child_nodes(node)


def _is_type_checking(node: ast.AST) -> bool:
    return "TYPE_CHECKING" in (getattr(node, "id", ""), getattr(node, "attr", ""))
