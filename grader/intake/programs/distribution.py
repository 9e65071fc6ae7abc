"""The name and version under which a submission was installed at home, read and never run."""

from __future__ import annotations

import ast
import configparser
import re
import tomllib
import warnings
from pathlib import Path
from typing import Any

from grader.intake.copying.regular_file import read_bounded

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]{0,63}")
_LONGEST = 1 << 15  # bytes; a longer file would be cut off, and so is no use
_MOST_DOTS = 500  # in one line; tomllib takes the square of the dots of a key
_NO_VERSION = "0.0.0"


def read_distribution(root: Path) -> tuple[str, str] | None:
    """What `pyproject.toml`, `setup.cfg` or `setup.py` at the root call the package, if they do.

    A version that is not written out there is "0.0.0".
    """
    readers = {
        "pyproject.toml": _from_pyproject,
        "setup.cfg": _from_setup_cfg,
        "setup.py": _from_setup_py,
    }
    for file, read in readers.items():
        try:
            text = read_bounded(root / file, _LONGEST).decode("utf-8", "replace")
            name, version = read(text)
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError, configparser.Error):
            continue  # no such file, or one that its own tools would not read either
        if isinstance(name, str) and _NAME.fullmatch(name):
            known = isinstance(version, str) and _VERSION.fullmatch(version)
            return name, version if known else _NO_VERSION
    return None


def _from_pyproject(text: str) -> tuple[Any, Any]:
    if any(line.count(".") > _MOST_DOTS for line in text.splitlines()):
        return None, None
    document = tomllib.loads(text)
    for table in (document.get("project"), _table(document.get("tool")).get("poetry")):
        if "name" in _table(table):
            return _table(table)["name"], _table(table).get("version")
    return None, None


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _from_setup_cfg(text: str) -> tuple[Any, Any]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    name = parser.get("metadata", "name", fallback=None)
    return name, parser.get("metadata", "version", fallback=None)


def _from_setup_py(text: str) -> tuple[Any, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) == "setup":
            literals = {
                keyword.arg: keyword.value.value
                for keyword in node.keywords
                if isinstance(keyword.value, ast.Constant)
            }
            return literals.get("name"), literals.get("version")
    return None, None


def _called(node: ast.Call) -> str | None:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None
