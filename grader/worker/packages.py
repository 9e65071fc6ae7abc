"""Installed packages: their folders, and loading before the fork."""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import site
import sys
import sysconfig
from collections.abc import Iterable, Sequence

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
