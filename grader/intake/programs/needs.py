"""The packages that a submission imports."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.core.names import expects_absence
from grader.core.submission import Submission
from grader.intake.open_folder import is_file_at, is_folder_at, read_bounded
from grader.intake.programs.notebook import syntax_tree
from grader.intake.programs.source_facts import imported

_MOST_FILES = 300
_LONGEST_FILE = 1 << 17  # bytes
_LONGEST_NAME = 100
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
    return frozenset(name for name in imported if len(name) <= _LONGEST_NAME)


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
