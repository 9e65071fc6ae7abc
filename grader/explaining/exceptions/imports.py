"""Explains what cannot be imported, and files that are not there."""

from __future__ import annotations

import importlib.metadata
import re
import sys

from grader.explaining.exceptions.kinds import Kind, kind, source_of
from grader.wire.calls import Raised
from grader.worker.standing_in.known import KNOWN_PACKAGES


def _no_module(match: re.Match[str], raised: Raised) -> str:
    name = match[1]
    top, _, inner = name.partition(".")
    if "is not a package" in raised.message:
        return (
            f"There is a module {top} and no folder of that name: does a file {top}.py hide the "
            "folder, or was the folder not handed in?"
        )
    if top in sys.stdlib_module_names and not inner:
        return f"The standard library of this Python has no {top}."
    if top in KNOWN_PACKAGES:
        return f"The package {top} is not installed here; the assignment does without it."
    if inner and top not in importlib.metadata.packages_distributions():
        file = f"{name.replace('.', '/')}.py"
        return f"Your own {top} is here, and {file} is not: was the file left out, or renamed?"
    return (
        f"There is no file {top}.py in what was handed in, and no package of that name is "
        "installed here."
    )


def _no_name(match: re.Match[str], raised: Raised) -> str:
    name, module = match.groups()
    if raised.suggestion:
        return f"{module} has no {name}: did you mean {raised.suggestion}?"
    return f"{module} has no {name}: is it called otherwise there, or is that an older file?"


def _relative(_: re.Match[str], raised: Raised) -> str:
    imported = re.search(r"from \.+(\w+)", source_of(raised))
    named = f"from {imported[1]} import …" if imported else "from module import …"
    return f"The file is not part of a package: write {named}, without the dot."


IMPORTS: tuple[Kind, ...] = (
    kind(r"ModuleNotFoundError: No module named '([\w.]+)'", _no_module),
    kind(
        r"ImportError: cannot import name '(\w+)' from partially initialized module '([\w.]+)'",
        "Two of your files import each other: {1} is not finished when {0} is asked of it. Move "
        "what both need into a third file.",
    ),
    kind(r"ImportError: cannot import name '(\w+)' from '([\w.]+)'", _no_name),
    kind(r"ImportError: attempted relative import with no known parent package", _relative),
    # Where the tests make files: `grader/worker/making.py`.
    kind(
        r"FileNotFoundError: .*No such file or directory: '(?:…|[^'\n]*-given-\w+/\d+)/([^'\n]+)'",
        "The tests gave the path of {0}, and nothing was written there before.",
    ),
    kind(
        r"FileNotFoundError: .*No such file or directory: '([^'\n]{1,200})'",
        "The file {0} is not part of what was handed in; a path is looked up from the folder that "
        "was handed in.",
    ),
)
