"""Finding the adapters in a private copy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from grader.core.submission import Unreadable
from grader.intake.copying.limits import CopyLimits
from grader.intake.copying.regular_file import read_bounded
from grader.intake.naming import several
from grader.intake.programs.notebook import Notebook, read_notebook
from grader.intake.programs.source_facts import SourceFacts, read_facts

_NESTED = 4  # folders that hold nothing but one folder


@dataclass(frozen=True, slots=True)
class Located:
    """The adapters' file: the submission's root, the file relative to it, and what it says.

    `notebook` is what the file holds if it is one, and None otherwise.
    """

    root: Path
    file: PurePosixPath
    facts: SourceFacts
    notebook: Notebook | None = None
    note: str | None = None


def locate(top: Path, adapters: str, limits: CopyLimits) -> Located:
    """Find the adapters at the top of a copy, or as few folders down as there are any.

    Or else the one notebook that has some, or the only Python file, if there are no folders.
    Where the top holds nothing but one folder, that folder is looked at as if it were the top.
    Raises Unreadable when there are none, or several and no telling which.
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
    notebooks = list(_notebooks_with_adapters(root, limits))
    if len(notebooks) == 1:
        return notebooks[0]
    if not notebooks and (alone := _only_python_file(root, limits)) is not None:
        return alone
    raise Unreadable(_nothing_found(root, adapters, [str(found.file) for found in notebooks]))


def _tops(top: Path) -> Iterator[Path]:
    yield top
    for _ in range(_NESTED):
        entries = list(top.iterdir())
        if len(entries) != 1 or not entries[0].is_dir():
            return
        top = entries[0]
        yield top


def _by_depth(root: Path) -> Iterator[list[Path]]:
    """The folders below the root, those one folder down first."""
    folders = [root]
    while folders := [path for one in folders for path in sorted(one.iterdir()) if path.is_dir()]:
        yield folders


def _read(root: Path, file: PurePosixPath, limits: CopyLimits) -> Located:
    if file.suffix.lower() == ".ipynb":
        content = read_bounded(root / file, limits.notebooks.bytes_each)
        notebook = read_notebook(content, limits.source)
        facts = read_facts(cell.encode("utf-8", "replace") for cell in notebook.cells)
        if not facts.adapters:  # all of it may stand in files that cells write
            written = read_facts(one.text.encode("utf-8", "replace") for one in notebook.files)
            facts = replace(facts, adapters=written.adapters)
        return Located(root, file, facts, notebook)
    content = read_bounded(root / file, limits.source.bytes_each)
    return Located(root, file, read_facts([content]))


def _best(found: list[Located], adapters: str) -> Located:
    """Of several candidates the one that defines most adapters."""
    most = max(len(candidate.facts.adapters) for candidate in found)
    best = [candidate for candidate in found if len(candidate.facts.adapters) == most]
    names = [str(candidate.file) for candidate in found]
    if len(best) > 1:
        raise Unreadable(
            f"{adapters} is there more than once ({several(names)}); say which with --adapters"
        )
    if len(found) == 1:
        return best[0]
    chosen = best[0]
    note = f"Of {several(names)} the one with most adapters was taken: {chosen.file}."
    return Located(chosen.root, chosen.file, chosen.facts, chosen.notebook, note)


def _notebooks_with_adapters(root: Path, limits: CopyLimits) -> Iterator[Located]:
    """The readable notebooks that define adapters, as few folders down as there are any."""
    found = False
    for folders in ([root], *_by_depth(root)):
        for path in (path for one in folders for path in sorted(one.glob("*.ipynb"))):
            try:
                located = _read(root, PurePosixPath(path.relative_to(root)), limits)
            except Unreadable:
                continue
            if located.facts.adapters:
                found = True
                yield located
        if found:
            return


def _only_python_file(root: Path, limits: CopyLimits) -> Located | None:
    """The Python file that is all the code there is, whatever its name, if it defines adapters."""
    files = list(root.glob("*.py"))
    if len(files) != 1 or any(path.is_dir() for path in root.iterdir()):
        return None
    located = _read(root, PurePosixPath(files[0].name), limits)
    return located if located.facts.adapters else None


def _nothing_found(root: Path, adapters: str, notebooks: list[str]) -> str:
    if notebooks:
        return (
            f"there is no {adapters}, and more than one notebook defines adapters "
            f"({several(notebooks)}); say which with --adapters"
        )
    there = sorted(path.name for path in root.iterdir())
    return f"there is no {adapters} in any folder of it; it holds {several(there)}"
