"""Modules that exist only in notebooks, and notebooks that are imported as modules."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

# Packages whose import makes notebooks importable by name, and the one that has them below itself.
_IMPORTERS = ("import_ipynb", "nbimporter")
_BELOW = "ipynb.fs.full."


class Nothing(ModuleType):
    """Stands for what exists only in a notebook: anything can be asked of it, nothing happens."""

    def __getattr__(self, name: str) -> Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing(f"{self.__name__}.{name}")

    def __call__(self, *_args: object, **_options: object) -> Nothing:
        """Gives itself."""
        return self

    def __iter__(self) -> Iterator[object]:
        """Yields nothing."""
        return iter(())


class NotebookModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `IPython`, `google.colab` and what imports notebooks, installed or not."""

    def __init__(self, shell: object) -> None:
        self._shell = shell

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module that does nothing."""
        del target
        name = f"{fullname}."
        known = fullname in ("google", *_IMPORTERS) or name.startswith(
            ("google.colab.", "IPython.")
        )
        if not (known or _BELOW.startswith(name)):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The module; `google` and `ipynb` are packages of others too."""
        if spec.name == "google" or _BELOW.startswith(f"{spec.name}."):
            return ModuleType(spec.name)
        module = Nothing(spec.name)
        if spec.name.partition(".")[0] == "IPython":
            vars(module)["get_ipython"] = lambda: self._shell
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is in it."""


class ImportedNotebooks(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds notebooks where modules are looked for, once something that imports them was imported.

    `run` runs the cells of the notebook in a folder in a namespace.
    """

    def __init__(self, run: Callable[[dict[str, object], Path], None]) -> None:
        self._run = run

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of the notebook of that name, if there is one."""
        del target
        is_below = fullname.startswith(_BELOW)
        if not (is_below or any(name in sys.modules for name in _IMPORTERS)):
            return None
        name = fullname.rpartition(".")[2]
        folders = sys.path if path is None or is_below else path
        for place in (Path(folder, f"{one}.ipynb") for folder in folders for one in _names(name)):
            if place.is_dir():
                return importlib.machinery.ModuleSpec(fullname, self, origin=str(place))
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """The usual module."""

    def exec_module(self, module: ModuleType) -> None:
        """Runs the cells in it."""
        if module.__spec__ is not None and module.__spec__.origin is not None:
            self._run(vars(module), Path(module.__spec__.origin))


class WrittenFiles(importlib.abc.MetaPathFinder):
    """Finds modules that cells wrote, in place of what was handed in under their names."""

    def __init__(self, root: Path, place: Path) -> None:
        self._root, self._place = root, place
        self._written: set[str] = set()

    def note(self, path: Path) -> None:
        """Has a file imported from where it was written, unless it was handed in just so."""
        path = path.absolute()
        self._written.discard(str(path))
        with contextlib.suppress(OSError, ValueError):
            handed_in = self._root / path.relative_to(self._place)
            if handed_in.read_bytes() == path.read_bytes():
                return
        self._written.add(str(path))
        importlib.invalidate_caches()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module that a cell wrote."""
        if not self._written:
            return None
        folders = [self._likeness(folder) for folder in (sys.path if path is None else path)]
        spec = importlib.machinery.PathFinder.find_spec(fullname, folders, target)
        return spec if spec is not None and spec.origin in self._written else None

    def _likeness(self, folder: str) -> str:
        with contextlib.suppress(ValueError):
            return str(self._place / Path(folder).relative_to(self._root))
        return folder


def _names(module: str) -> tuple[str, str]:
    """What a notebook may be called that is imported by a module's name."""
    return module, module.replace("_", " ")
