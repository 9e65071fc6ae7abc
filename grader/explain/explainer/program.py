"""What a submission's files are apart from comments, docstrings and empty lines."""

from __future__ import annotations

import ast
import hashlib
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.core.source_text import source_text
from grader.intake.copying.regular_file import read_bounded

# Of programs; a syntax tree can take a thousand times as many bytes.
_MOST_CODE = 1 << 18
_MOST_BYTES = 16 << 20

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class CodeLines:
    """The lines of a file that hold code: their numbers, and their texts without indentation."""

    numbers: tuple[int, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubmissionProgram:
    """All files of a submission.

    Where two have the same `likeness`, Python compiles the same code from both but for docstrings
    and the numbers of lines, and all that is no code is the same to the byte: what one does, the
    other does as well. The lines of their `files` go in pairs, in their order.
    """

    likeness: bytes
    files: Mapping[str, CodeLines]

    @classmethod
    def below(cls, root: Path) -> SubmissionProgram | None:
        """The program below a folder; none if it is too large to be looked at."""
        digest = hashlib.sha256()
        files: dict[str, CodeLines] = {}
        code_left, bytes_left = _MOST_CODE, _MOST_BYTES
        for path in _files_below(root):
            try:
                content = read_bounded(path, bytes_left + 1)
            except OSError:
                return None
            bytes_left -= len(content)
            code_left -= len(content) if _is_source(path) else 0
            if min(bytes_left, code_left) < 0:
                return None
            name = path.relative_to(root).as_posix()
            form = _form_and_code(content) if _is_source(path) else None
            if form is not None:
                content, files[name] = form
            title = f"{name}\0{form is None}\0{len(content)}\0"
            digest.update(title.encode("utf-8", "surrogatepass"))
            digest.update(content)
        return cls(digest.digest(), files)

    def counterpart(self, file: str, line: int, other: SubmissionProgram) -> int | None:
        """The number in `other`, of the same likeness, of a line that says the same there."""
        here, there = self.files.get(file), other.files.get(file)
        if here is None or there is None or line not in here.numbers:
            return None
        place = here.numbers.index(line)
        return there.numbers[place] if here.texts[place] == there.texts[place] else None


def _files_below(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders.sort()
        yield from (Path(folder, name) for name in sorted(names))


def _is_source(path: Path) -> bool:
    return path.suffix == ".py" or any(part.endswith(".ipynb") for part in path.parts[:-1])


def _form_and_code(content: bytes) -> tuple[bytes, CodeLines] | None:
    """The syntax of a file in which lines are counted by those that hold code, and these lines.

    None of what is no Python here. It is read as Python reads it when it is imported.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the students' escapes, which is not for here
            tree = ast.parse(content)
        lines = source_text(content).split("\n")
        _take_docstrings_out(tree)
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr | ast.stmt)]
        numbers = sorted({number for node in nodes for number in _ends(node)})
        if numbers and numbers[-1] > len(lines):
            return None
        places = {number: place for place, number in enumerate(numbers)}
        spans = [tuple(places[number] for number in _ends(node)) for node in nodes]
        form = f"{ast.dump(tree)}\0{spans}".encode("utf-8", "surrogatepass")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    texts = tuple(lines[number - 1].strip() for number in numbers)
    return form, CodeLines(tuple(numbers), texts)


def _take_docstrings_out(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, _Documented) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]


def _ends(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.end_lineno or node.lineno
