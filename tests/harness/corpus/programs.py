"""The corpus: right programs in several styles, and wrong ones made of them by small substitutions.

`right/` holds a folder for each style, `slips/` a table of substitutions for each. A notebook is
kept as a Python file whose cells begin with `# %%`.
"""

from __future__ import annotations

import ast
import difflib
import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
STYLES = tuple(sorted(folder.name for folder in (HERE / "right").iterdir() if folder.is_dir()))
NOTEBOOK = "notebook"
_CELL = "# %%"
_NOTEBOOK_FILE = "attention"


@dataclass(frozen=True)
class Edit:
    """A text that stands once in a file of a right program, and what stands there instead."""

    file: str
    old: str
    new: str

    @property
    def changed(self) -> list[int]:
        """The lines of the new text that are not in the old one, or all if it is only shorter."""
        old, new = self.old.splitlines(), self.new.splitlines()
        blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        lines = [line for tag, _, _, *of_new in blocks if tag != "equal" for line in range(*of_new)]
        return lines or list(range(len(new)))


@dataclass(frozen=True)
class Slip:
    """A wrong program: a style, substitutions, and the known mistake that they make, if any.

    `true` are other mistakes that the program makes just as well. `at` are beginnings or other
    parts of the lines at which it may be said to go astray, if those are not just the changed ones.
    """

    style: str
    name: str
    mistake: str | None
    edits: tuple[Edit, ...]
    true: frozenset[str]
    at: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.style}: {self.name}"

    @property
    def names(self) -> frozenset[str]:
        """Every mistake that may be named."""
        return self.true | ({self.mistake} if self.mistake else frozenset())


def slips() -> Iterator[Slip]:
    """Every wrong program of the corpus."""
    for table in sorted((HERE / "slips").glob("*.toml")):
        for row in tomllib.loads(table.read_text(encoding="utf-8"))["slip"]:
            style = row.get("style", table.stem)
            yield Slip(
                style,
                row.get("name") or row["mistake"],
                row.get("mistake"),
                tuple(_edit(style, part) for part in (row, *row.get("also", ()))),
                frozenset(row.get("true", ())),
                tuple(row.get("at", ())),
            )


def texts(style: str, edits: Sequence[Edit] = ()) -> dict[str, str]:
    """The files of a style's program by their paths, with substitutions made.

    Raises:
        ValueError: if what is to be replaced does not stand in its file exactly once.
    """
    root = HERE / "right" / style
    files = {
        file.relative_to(root).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted(root.rglob("*.py"))
    }
    for edit in edits:
        if files[edit.file].count(edit.old) != 1:
            raise ValueError(f"{style}/{edit.file} has not exactly one {edit.old!r}")
        files[edit.file] = files[edit.file].replace(edit.old, edit.new)
    return files


def stage(style: str, edits: Sequence[Edit], folder: Path) -> Path:
    """Writes a program as it is handed in, into an empty folder; the path to submit."""
    files = texts(style, edits)
    if style == NOTEBOOK:
        notebook = folder / f"{_NOTEBOOK_FILE}.ipynb"
        notebook.write_text(json.dumps(_as_notebook(files[f"{_NOTEBOOK_FILE}.py"])))
        return notebook
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def wrong_lines(slip: Slip) -> set[tuple[str, int]]:
    """File and line of every line of the statements at which a program goes astray."""
    files = texts(slip.style, slip.edits)
    found: set[tuple[str, int]] = set()
    for name, text in files.items():
        statements = _statements(text)
        for line in _marked(slip, name, text):
            found |= {(name, other) for other in statements.get(line, {line})}
    return {_in_cells(files[name], name, line) for name, line in found}


def _edit(style: str, part: dict[str, str]) -> Edit:
    only_file = f"{_NOTEBOOK_FILE}.py" if style == NOTEBOOK else "adapters.py"
    return Edit(part.get("file", only_file), part["old"], part["new"])


def _marked(slip: Slip, name: str, text: str) -> Iterator[int]:
    """The lines of a file that are marked as wrong, counted from 1."""
    if slip.at:
        for number, line in enumerate(text.splitlines(), 1):
            if any(part in line for part in slip.at):
                yield number
        return
    for edit in slip.edits:
        if edit.file == name:
            first = text[: text.index(edit.new)].count("\n") + 1
            yield from (first + line for line in edit.changed)


def _statements(text: str) -> dict[int, set[int]]:
    """The lines of the innermost statement that each line belongs to, heads of blocks apart."""
    found: dict[int, set[int]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            lines = set(range(node.lineno, max(last, node.lineno) + 1))
            found |= dict.fromkeys(lines, lines)
    return found


def _in_cells(text: str, name: str, line: int) -> tuple[str, int]:
    """A line as the grader names it: of a notebook, the cell and the line in it."""
    if name != f"{_NOTEBOOK_FILE}.py":
        return name, line
    cells = 0
    start = 0
    for number, row in enumerate(text.splitlines()[:line], 1):
        if row.startswith(_CELL):
            start = number
            cells += "[markdown]" not in row
    return f"{_NOTEBOOK_FILE}.ipynb/cell {cells}", line - start


def _as_notebook(text: str) -> dict[str, object]:
    cells = []
    for cell in text.split(f"\n{_CELL}"):
        head, _, source = cell.removeprefix(_CELL).partition("\n")
        kind = "markdown" if "[markdown]" in head else "code"
        code = {"outputs": [], "execution_count": None} if kind == "code" else {}
        cells.append({"cell_type": kind, "metadata": {}, "source": source, **code})
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
