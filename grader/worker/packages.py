"""Installed packages: their folders, loading before the fork, and the time of imports."""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import site
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

_LONGEST = 200
# Where a finder looks for a module (None: on `sys.path`), and the answer of one.
Folders = Sequence[str] | None
Spec = importlib.machinery.ModuleSpec | None


@functools.cache
def package_folders() -> tuple[str, ...]:
    """Returns the folders that hold installed packages."""
    paths = sysconfig.get_paths()
    folders = [paths["purelib"], paths["platlib"], *site.getsitepackages()]
    return tuple(dict.fromkeys([*folders, site.getusersitepackages()]))


def is_installed(name: str) -> bool:
    """Returns whether a package or module of that name, without dots, is installed.

    It is not imported.
    """
    spec = importlib.machinery.PathFinder.find_spec(name, package_folders())
    return spec is not None and spec.loader is not None


def load_ahead(names: Iterable[str]) -> dict[str, str]:
    """Imports modules; returns by name why some of them failed."""
    failed = {}
    for name in names:
        try:
            importlib.import_module(name)
        except (Exception, SystemExit) as error:
            failed[name] = f"{type(error).__name__}: {' '.join(str(error).split())}"[:_LONGEST]
    return failed


def make_room(own_paths: Sequence[str], preloaded: Iterable[str]) -> None:
    """Unloads preloaded packages for which a submission has a module of its own."""
    for top in {name.partition(".")[0] for name in preloaded}:
        spec = importlib.machinery.PathFinder.find_spec(top, own_paths)
        if spec is not None and spec.loader is not None:
            for name in [name for name in sys.modules if name.partition(".")[0] == top]:
                del sys.modules[name]


class ImportClock(importlib.abc.MetaPathFinder):
    """A finder of installed packages' modules, which measures the time of each import.

    The time of a module includes the modules that it imports.
    """

    def __init__(self) -> None:
        self._folders = tuple(f"{folder}/" for folder in package_folders())
        self._is_running = False
        self.seconds: dict[str, float] = {}

    def find_spec(self, fullname: str, path: Folders, _target: object = None) -> Spec:
        """Returns the spec of a module of an installed package; None for every other module."""
        if self._is_running or fullname.partition(".")[0] in sys.stdlib_module_names:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is None or not str(spec.origin).startswith(self._folders):
            return None
        if isinstance(spec.loader, importlib.abc.Loader) and hasattr(spec.loader, "__dict__"):
            self._time(spec.loader, fullname)
        return spec

    def _time(self, loader: Any, name: str) -> None:
        execute: Callable[[ModuleType], None] = loader.exec_module

        def timed(module: ModuleType) -> None:
            del loader.exec_module
            self._is_running, started = True, time.monotonic()
            try:
                execute(module)
            finally:
                self._is_running = False
                self.seconds[name] = time.monotonic() - started

        loader.exec_module = timed
