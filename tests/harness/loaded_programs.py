"""Programs that a test loads into its own process, as a worker loads a submission."""

from __future__ import annotations

import contextlib
import importlib
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import Path

Loaded = Callable[..., types.ModuleType]


@contextlib.contextmanager
def loading(folder: Path) -> Iterator[Loaded]:
    """Provides a function that loads a program as a module of a folder on the import path."""
    names: list[str] = []

    def load(program: str, name: str = "") -> types.ModuleType:
        name = name or f"loaded_{len(names)}_{folder.name}"
        (folder / f"{name}.py").write_text(textwrap.dedent(program))
        names.append(name)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield load
    for name in names:
        sys.modules.pop(name, None)
