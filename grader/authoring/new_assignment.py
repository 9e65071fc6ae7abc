"""The layout of a new assignment, from the files in `template/`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from grader.core.assignment import BadAssignment

_SUFFIX = ".template"
_HIDDEN = {"gitignore": ".gitignore"}


def lay_out_assignment(folder: Path, name: str | None = None) -> str:
    """Writes an assignment called `name` into a new or empty folder, and returns its name.

    The default name is that of the folder.

    Raises:
        BadAssignment: if the folder is in use or cannot be written, or the name cannot be printed.
    """
    name = folder.resolve().name if name is None else name
    if not name.strip() or not name.isprintable():
        raise BadAssignment(f"{name!r} is not a name for an assignment: give one with --name")
    try:
        if folder.exists() and any(entry.name != ".git" for entry in folder.iterdir()):
            raise BadAssignment(f"{folder} is not empty: name a new folder for the assignment")
        for path, text in _template(files("grader.authoring") / "template"):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            filled = text.replace("@TOML_NAME@", json.dumps(name, ensure_ascii=False))
            target.write_text(filled.replace("@NAME@", name), encoding="utf-8")
    except OSError as error:
        raise BadAssignment(
            f"{folder} cannot be written ({error.strerror}): name a folder of yours"
        ) from error
    return name


def _template(folder: Traversable, above: Path = Path()) -> Iterator[tuple[Path, str]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _template(entry, above / entry.name)
        elif entry.name.endswith(_SUFFIX):
            name = entry.name.removesuffix(_SUFFIX)
            yield above / _HIDDEN.get(name, name), entry.read_text(encoding="utf-8")
