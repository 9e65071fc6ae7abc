"""The layout of a new assignment, from the files in `template/`."""

from __future__ import annotations

import json
from pathlib import Path

from grader.authoring.templates import filled
from grader.core.assignment import BadAssignment

_TEMPLATE = Path(__file__).with_name("template")
_SUFFIX = ".template"
_HIDDEN = {"gitignore": ".gitignore"}


def lay_out_assignment(folder: Path, name: str | None) -> str:
    """Writes an assignment called `name` into a new or empty folder, and returns its name.

    If it is None, the folder gives the name.

    Raises:
        BadAssignment: if the folder is in use or cannot be written, or the name cannot be printed.
    """
    name = folder.resolve().name if name is None else name
    if not name.strip() or not name.isprintable():
        raise BadAssignment(f"{name!r} is not a name for an assignment: give one with --name")
    try:
        if folder.exists() and any(entry.name != ".git" for entry in folder.iterdir()):
            raise BadAssignment(f"{folder} is not empty: name a new folder for the assignment")
        for file in _TEMPLATE.rglob(f"*{_SUFFIX}"):
            plain = file.name.removesuffix(_SUFFIX)
            target = folder / file.relative_to(_TEMPLATE).with_name(_HIDDEN.get(plain, plain))
            target.parent.mkdir(parents=True, exist_ok=True)
            text = filled(file, name=name, toml_name=json.dumps(name, ensure_ascii=False))
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadAssignment(
            f"{folder} cannot be written ({error.strerror}): name a folder of yours"
        ) from error
    return name
