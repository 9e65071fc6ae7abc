"""The packages that a submission says it was written with: its files for pip, uv and conda."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from grader.intake.copying.regular_file import read_bounded

_LONGEST = 1 << 20  # bytes; a lock file is the longest
_LONGEST_LINE = 300
_MOST_DOTS = 500  # in one line; tomllib takes the square of the dots of a key
_MOST_PACKAGES = 200
_OF_CONDA = re.compile(r"\s*-\s*([A-Za-z0-9][A-Za-z0-9._-]{0,98})\s*(?:$|[=<>~!#\[ ])")


def declared_packages(root: Path) -> frozenset[str]:
    """The names of the distributions that are declared at the root, as PyPI normalises them.

    Of a lock file those that the submission itself depends on. What cannot be read declares none.
    """
    readers = {
        "pyproject.toml": _of_pyproject,
        "uv.lock": _of_lock,
        "requirements.txt": _of_requirements,
        "environment.yml": _of_conda,
    }
    names: set[str] = set()
    for file, read in readers.items():
        try:
            text = read_bounded(root / file, _LONGEST).decode("utf-8", "replace")
            names.update(map(canonicalize_name, read(text)))
        except (OSError, ValueError, RecursionError, MemoryError):
            continue
    return frozenset(sorted(names - {"python", "pip"})[:_MOST_PACKAGES])


def _of_pyproject(text: str) -> Iterator[str]:
    document = _toml(text)
    project = _table(document.get("project"))
    for line in _array(project.get("dependencies")):
        yield from _named(line)
    poetry = _table(_table(document.get("tool")).get("poetry"))
    yield from (name for name in _table(poetry.get("dependencies")) if list(_named(name)))


def _of_lock(text: str) -> Iterator[str]:
    for package in _array(_toml(text).get("package")):
        source = _table(_table(package).get("source"))
        if {"editable", "virtual"} & {*source}:
            for dependency in _array(_table(package).get("dependencies")):
                yield from _named(_table(dependency).get("name"))


def _of_requirements(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if not line.lstrip().startswith(("-", "#")):
            yield from _named(line.partition(" #")[0].strip())


def _of_conda(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if found := _OF_CONDA.match(line[:_LONGEST_LINE]):
            yield found[1]


def _named(requirement: Any) -> Iterator[str]:
    """The name of the distribution that a requirement is of; nothing of what is none."""
    if isinstance(requirement, str) and 0 < len(requirement) <= _LONGEST_LINE:
        try:
            yield Requirement(requirement).name
        except InvalidRequirement:
            return


def _toml(text: str) -> dict[str, Any]:
    if any(line.count(".") > _MOST_DOTS for line in text.splitlines()):
        return {}
    return tomllib.loads(text)


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _array(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
