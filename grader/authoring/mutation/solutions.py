"""An assignment's right programs, loaded as they are and with an edit in one of their modules."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from grader.core.adapter_names import is_adapter

PACKAGE = "solutions"
REFERENCES = "the references"
_VARIANTS = f"{PACKAGE}.variants"
_WRONG = (f"{PACKAGE}.mistakes", f"{PACKAGE}.habits")

Functions = Mapping[str, Callable[..., Any]]


class RightPrograms:
    """The references and the right variants, by their names, and the modules that make them."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._codes: dict[str, CodeType] = {}
        folder = root / PACKAGE
        files = sorted(folder.rglob("*.py"))
        self.files = {module: file for file in files if not _is_wrong(module := _named(file, root))}
        self._all = {_named(file, root): file for file in files}

    def source(self, module: str) -> str:
        """The source of a module."""
        return self._all[module].read_text(encoding="utf-8")

    def place(self, module: str) -> str:
        """The file of a module, below the assignment's folder."""
        return self._all[module].relative_to(self._root).as_posix()

    def code(self, module: str) -> CodeType:
        """A module as it is, compiled."""
        if module not in self._codes:
            self._codes[module] = self.compiled(module, self.source(module))
        return self._codes[module]

    def compiled(self, module: str, source: str) -> CodeType:
        """A module with another source, compiled."""
        return compile(source, str(self._all[module]), "exec", dont_inherit=True)

    def load(self, changed: Mapping[str, CodeType]) -> dict[str, Functions]:
        """The functions by exercise, of the references and of each variant.

        Whatever the modules raise when they are imported comes out.
        """
        with self._imported_from({name: self.code(name) for name in self._all} | dict(changed)):
            references = vars(importlib.import_module(PACKAGE))
            found: dict[str, Functions] = {
                REFERENCES: {name: value for name, value in references.items() if is_adapter(name)}
            }
            if _VARIANTS in self._all:
                variants: Sequence[Any] = importlib.import_module(_VARIANTS).VARIANTS
                found |= {str(variant.name): variant.functions for variant in variants}
            return found

    @contextmanager
    def _imported_from(self, codes: Mapping[str, CodeType]) -> Iterator[None]:
        """Has the package be imported anew from these codes, and forgets it afterwards."""
        before = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_ours(name)}
        finder = _Finder(codes, {name for name, file in self._all.items() if _is_package(file)})
        sys.meta_path.insert(0, finder)
        try:
            yield
        finally:
            sys.meta_path.remove(finder)
            for name in [name for name in sys.modules if _is_ours(name)]:
                del sys.modules[name]
            sys.modules.update(before)


class _Finder(MetaPathFinder, InspectLoader):
    """Finds modules in memory."""

    def __init__(self, codes: Mapping[str, CodeType], packages: set[str]) -> None:
        self._codes = codes
        self._packages = packages

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module, if it is one of those."""
        del path, target
        if fullname not in self._codes:
            return None
        return ModuleSpec(fullname, self, is_package=fullname in self._packages)

    def get_code(self, fullname: str) -> CodeType:
        """What is to be run."""
        return self._codes[fullname]

    def get_source(self, fullname: str) -> None:
        """Nobody asks."""


def _named(file: Path, root: Path) -> str:
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _is_package(file: Path) -> bool:
    return file.stem == "__init__"


def _is_ours(module: str) -> bool:
    return module == PACKAGE or module.startswith(f"{PACKAGE}.")


def _is_wrong(module: str) -> bool:
    return any(module == one or module.startswith(f"{one}.") for one in _WRONG)
