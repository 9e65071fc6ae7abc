"""Notebooks of a private copy as folders of cells, and the files that their cells write."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.core.submission import Unreadable
from grader.intake.copying.limits import CopyLimits
from grader.intake.copying.open_folder import read_bounded
from grader.intake.copying.private_copy import PrivateCopy, is_of_the_machine
from grader.intake.programs.notebook import Notebook, WrittenFile, read_notebook

_RUNNER = "The cells of the notebook beside this file, run in order."
_MOST = 20  # notebooks that others run or import


def unfold(place: Path, notebook: Notebook) -> None:
    """Puts a folder with a file for each cell in the place of a notebook."""
    place.unlink()
    folder = PrivateCopy(place)
    for number, cell in enumerate(notebook.cells, 1):
        folder.write([f"cell {number}"], [cell.encode("utf-8", "replace")])


def write_runner(notebook: Path, names: Iterable[str]) -> Path:
    """Writes the module that runs the cells of a notebook beside it, by the first free name."""
    free = next(name for name in names if not os.path.lexists(notebook.with_name(name)))
    module = notebook.with_name(free)
    text = f"get_ipython().run_main(globals(), {notebook.name!a})"
    module.write_text(f'"""{_RUNNER}"""\n\n{text}\n', "utf-8")
    module.chmod(0o644)
    return module


def write_files(root: Path, folder: Path, files: Sequence[WrittenFile]) -> list[Path]:
    """Writes what the cells of a notebook in a folder write, as it is in the end; the files.

    What would lie outside of `root`, or cannot be written, is left to the cells themselves.
    """
    written: dict[Path, None] = {}
    for file in files:
        place = Path(os.path.normpath(folder / file.path))
        if not place.is_relative_to(root) or place.suffix != ".py":
            continue
        try:
            earlier = place.read_text("utf-8") if file.is_appended and place.exists() else ""
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(earlier + file.text, "utf-8")
            place.chmod(0o644)
        except (OSError, ValueError) as problem:
            if is_of_the_machine(problem):
                raise
            continue
        written[place] = None
    return list(written)


def unfold_mentioned(root: Path, sources: Sequence[str], limits: CopyLimits) -> None:
    """Unfolds the notebooks whose names some source mentions, and those that these mention."""
    waiting = sorted(path for path in root.rglob("*.ipynb") if path.is_file())
    texts = "\n".join(sources)
    for _ in range(_MOST):
        found = next((path for path in waiting if _is_mentioned(path, texts)), None)
        if found is None:
            return
        waiting.remove(found)
        try:
            content = read_bounded(found, limits.notebooks.bytes_each)
            notebook = read_notebook(content, limits.source)
        except Unreadable:
            continue
        unfold(found, notebook)
        write_files(root, found.parent, notebook.files)
        texts = "\n".join((texts, *notebook.cells))


def _is_mentioned(notebook: Path, text: str) -> bool:
    module = re.escape(notebook.stem.replace(" ", "_"))
    return notebook.name in text or bool(
        re.search(rf"\b(?:import|from) (?:[\w.]*\.)?{module}\b", text)
    )
