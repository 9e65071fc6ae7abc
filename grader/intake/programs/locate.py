"""Finding the adapters in a private copy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.intake.copying.limits import Limits
from grader.intake.copying.regular_file import read_bounded
from grader.intake.naming import several
from grader.intake.notebooks.notebook import code_cells
from grader.intake.programs.source_facts import SourceFacts, read_facts
from grader.submission import Unreadable

_NESTED = 4  # folders that hold nothing but one folder


@dataclass(frozen=True, slots=True)
class Located:
    """The adapters' file: the submission's root, the file relative to it, and what it says.

    `cells` are the code cells when the file is a notebook, and None otherwise.
    """

    root: Path
    file: PurePosixPath
    facts: SourceFacts
    cells: tuple[str, ...] | None = None
    note: str | None = None


def locate(top: Path, adapters: str, limits: Limits) -> Located:
    """Find the adapters at the top of a copy, or one folder down; else the one notebook with some.

    Or else the only Python file, if it has some and there are no folders.
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
    one_down = [
        _read(root, PurePosixPath(folder, adapters), limits)
        for folder in _folders(root)
        if (root / folder / adapters).is_file()
    ]
    if one_down:
        return _best(one_down, adapters)
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


def _folders(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.is_dir())


def _read(root: Path, file: PurePosixPath, limits: Limits) -> Located:
    if file.suffix.lower() == ".ipynb":
        content = read_bounded(root / file, limits.notebooks.bytes_each)
        cells = tuple(code_cells(content, limits.source))
        facts = read_facts(cell.encode("utf-8", "replace") for cell in cells)
        return Located(root, file, facts, cells)
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
    return Located(chosen.root, chosen.file, chosen.facts, chosen.cells, note)


def _notebooks_with_adapters(root: Path, limits: Limits) -> Iterator[Located]:
    """The readable notebooks at the root, or else one folder down, that define adapters."""
    found = False
    for pattern in ("*.ipynb", "*/*.ipynb"):
        for path in sorted(root.glob(pattern)):
            try:
                located = _read(root, PurePosixPath(path.relative_to(root)), limits)
            except Unreadable:
                continue
            if located.facts.adapters:
                found = True
                yield located
        if found:
            return


def _only_python_file(root: Path, limits: Limits) -> Located | None:
    """The Python file that is all the code there is, whatever its name, if it defines adapters."""
    files = list(root.glob("*.py"))
    if len(files) != 1 or _folders(root):
        return None
    located = _read(root, PurePosixPath(files[0].name), limits)
    return located if located.facts.adapters else None


def _nothing_found(root: Path, adapters: str, notebooks: list[str]) -> str:
    if notebooks:
        return (
            f"there is no {adapters}, and more than one notebook defines adapters "
            f"({several(notebooks)}); say which with --adapters"
        )
    deeper = sorted(str(path.relative_to(root)) for path in root.rglob(adapters))
    if deeper:
        return (
            f"{adapters} lies deeper than one folder down ({several(deeper)}); "
            "say where with --adapters"
        )
    there = sorted(path.name for path in root.iterdir())
    return f"there is no {adapters} at the top or one folder down; it holds {several(there)}"
