"""Explains what cannot be imported, and files that are not there."""

from __future__ import annotations

import importlib.metadata
import re
import sys

from grader.core.wire.calls import Raised
from grader.core.wire.scripts import GIVEN
from grader.explain.exceptions.kinds import ExceptionKind, kind, source_of
from grader.worker.stubs.known import KNOWN_PACKAGES


def _no_module(match: re.Match[str], raised: Raised) -> str:
    name = match[1]
    top, _, inner = name.partition(".")
    is_installed = top in importlib.metadata.packages_distributions()
    if "is not a package" in raised.message:
        owner, _, last = name.rpartition(".")
        return f"{owner} is a single file here, and no folder that could hold {last}."
    if top in sys.stdlib_module_names:
        return f"The standard library of this Python has no {name}."
    if is_installed:
        return f"The package {top} is installed here, and has no {name}: in this version, perhaps."
    if top in KNOWN_PACKAGES and not inner:
        return f"The package {top} is not installed here; the assignment does without it."
    if inner:
        return f"Your own {top} is here, and has no {name}: was a file left out, or renamed?"
    return (
        f"Imports find neither a file {top}.py nor an installed package of that name. A file in a "
        f"folder is imported by the folder's name, too (folder.{top})."
    )


def _not_in_module(match: re.Match[str], raised: Raised) -> str:
    name, module = match.groups()
    if raised.suggestion:
        return f"{module} has no {name}: did you mean {raised.suggestion}?"
    return f"{module} has no {name}: is it called otherwise there, or is that an older file?"


def _relative(_: re.Match[str], raised: Raised) -> str:
    imported = re.search(r"from \.+(\w+)", source_of(raised))
    named = f"from {imported[1]} import …" if imported else "from module import …"
    return f"The file is not part of a package: write {named}, without the dot."


IMPORTS: tuple[ExceptionKind, ...] = (
    kind(r"ModuleNotFoundError: No module named '([\w.]+)'", _no_module),
    kind(
        r"ImportError: cannot import name '(\w+)' from partially initialized module '([\w.]+)'",
        "{1} is not finished when {0} is asked of it: files import each other in a circle, or one "
        "hides what it means to import by having its name. What two files need belongs into a "
        "third.",
    ),
    kind(r"ImportError: cannot import name '(\w+)' from '([\w.]+)'", _not_in_module),
    kind(r"ImportError: attempted relative import with no known parent package", _relative),
    # Where the tests make files: `grader/worker/making.py`.
    kind(
        rf"FileNotFoundError: .*No such file or directory: '(?:…|[^'\n]*{GIVEN}\w+/\d+)/([^'\n]+)'",
        "The tests gave the path of {0}, and nothing was written there before.",
    ),
    kind(
        r"FileNotFoundError: .*No such file or directory: '([^'\n]{1,200})'",
        "There is no {0} here: a path that begins with a name is looked up from the top of what "
        "was handed in.",
    ),
)
