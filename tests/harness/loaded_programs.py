"""Programs that a test loads into its own process, as a worker loads a submission."""

from __future__ import annotations

import contextlib
import importlib
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import Path

from grader.core.wire.trials import TextChange
from grader.worker.trials.trials import Trying

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


def trying(module: types.ModuleType, root: Path) -> Trying:
    """Returns the trials of a loaded program's adapters."""
    adapters = {name: one for name, one in vars(module).items() if name.startswith("run_")}
    return Trying(adapters, root)


def edit(module: types.ModuleType, *pairs: tuple[str, str]) -> dict[str, list[TextChange]]:
    """Returns the edit that replaces texts of a loaded program, each at its first place."""
    text = Path(str(module.__file__)).read_text()
    changes = [TextChange(text.index(old), text.index(old) + len(old), new) for old, new in pairs]
    return {Path(str(module.__file__)).name: changes}
