"""Imports a submission as its author did at home, inside the worker.

A file may end early, with `exit()` or where it asks for input: its definitions up to there count.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import linecache
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from grader.core.names import is_adapter
from grader.core.wire.calls import MAX_CELL_ERRORS, ImportReport
from grader.worker.exceptions import describe_exception
from grader.worker.notebook import Cells, install
from grader.worker.observing.lines import own_file
from grader.worker.packages import Folders, Spec, make_room
from grader.worker.performing import seed_generators
from grader.worker.stubs import SilentFinder, StubFinder, find_versions_of
from grader.worker.workplace import WorkplaceFinder, make_workplace

# Packages that every worker has loaded only because many submissions import them.
_WARM = ("beartype", "einops", "jaxtyping")
_LONGEST_SOURCE = 60
# Only `input()` raises an EOFError with this message.
_END_OF_INPUT = "EOF when reading a line"


def _early_ends(root: Path) -> list[BaseException]:
    """Makes files of the submission keep their definitions when they exit or ask for input.

    Returns a list that collects the exceptions which end them.
    """
    endings: list[BaseException] = []
    execute = importlib.machinery.SourceFileLoader.exec_module

    def exec_module(loader: importlib.machinery.SourceFileLoader, module: ModuleType) -> None:
        try:
            execute(loader, module)
        except (SystemExit, EOFError) as ended:
            is_end = isinstance(ended, SystemExit) or ended.args == (_END_OF_INPUT,)
            if not is_end or own_file(str(module.__file__), root) is None:
                raise
            endings.append(ended)

    loader_kind: Any = importlib.machinery.SourceFileLoader
    loader_kind.exec_module = exec_module
    return endings


def _unreached_code(ended: BaseException, root: Path) -> str:
    """Returns in words which code did not run, with the line that ended the file."""
    own = [
        (file, frame.lineno or 0, frame.filename)
        for frame in traceback.extract_tb(ended.__traceback__)
        if (file := own_file(frame.filename, root)) is not None
    ]
    if not own:
        return "what follows an exit"
    file, line, path = own[-1]
    source = linecache.getline(path, line).strip()[:_LONGEST_SOURCE]
    return f"what follows {source} ({file}:{line})"


class EngineBlocker(importlib.abc.MetaPathFinder):
    """Lets a submission import a `grader` of its own, and never the engine's."""

    def __init__(self, own_paths: Sequence[str]) -> None:
        self._own_paths = list(own_paths)

    def find_spec(self, fullname: str, _path: Folders, _target: object = None) -> Spec:
        """Returns the spec of the submission's own `grader`; for every other module, none."""
        if fullname != "grader":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, self._own_paths)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return spec


def load(
    root: Path,
    scratch: Path,
    engine: Sequence[str],
    module: str,
    import_paths: Sequence[str],
    preloaded: Sequence[str],
    cell_seconds: float | None = None,
) -> tuple[dict[str, Callable[..., Any]], ImportReport]:
    """Imports `module` with the submission's folders first on `sys.path`; returns its adapters.

    The working directory becomes a writable copy, below `scratch`, of the folder that was handed
    in. The submission's own modules replace `preloaded` ones of the same name; stubs replace
    packages that are not installed. The modules of the `engine` can no longer be imported. With
    `cell_seconds`, notebooks have IPython's shell, and each cell has so many seconds.
    """
    own_paths = [os.path.normpath(root / path) for path in import_paths]
    place = make_workplace(root, scratch)
    submitted = _submitted_folder(root, module, import_paths)
    os.chdir(place / submitted.relative_to(root))
    sys.path[:0] = own_paths
    sys.argv = ["adapters"]
    own_names = _own_names(root, own_paths)
    stubs = StubFinder(root, own_names)
    handed_in = WorkplaceFinder(root, place)
    sys.meta_path[:0] = [EngineBlocker(own_paths), handed_in]
    if importlib.machinery.PathFinder.find_spec("tensorboard") is None:
        sys.meta_path.insert(0, SilentFinder("torch.utils.tensorboard"))
    sys.meta_path.append(stubs)
    find_versions_of(own_names)
    shell, cells = None, Cells(0)
    if cell_seconds is not None:
        shell, cells = install(cell_seconds)
        sys.path.insert(len(own_paths), str(Path.cwd()))
    for name in engine:
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    make_room(own_paths, (*preloaded, *_WARM))
    problem, functions, endings = None, {}, _early_ends(root)
    # Every zygote's generators begin differently. Torch's keep the seed that they have at home.
    seed_generators(torch.initial_seed())
    try:
        names = vars(importlib.import_module(module))
        functions = {
            name: value
            for name, value in list(names.items())
            if is_adapter(name) and callable(value)
        }
        if endings and not functions:
            raise endings[0]
    except BaseException as exception:  # a submission may raise anything at all
        problem = describe_exception(exception, root)
    finally:
        stubs.begin_use()
    unreached = dict.fromkeys(_unreached_code(one, root) for one in endings)
    failed = [] if problem else [*cells.failed.values()][:MAX_CELL_ERRORS]
    return functions, ImportReport(
        adapters=tuple(sorted(functions)),
        problem=problem,
        cell_errors=tuple(describe_exception(error, root) for error in failed),
        uses=(),
        absent=tuple(stubs.names),
        not_run=(*(shell.not_run if shell else ()), *unreached),
    )


def _submitted_folder(root: Path, module: str, import_paths: Sequence[str]) -> Path:
    """Returns the folder that was handed in: `root`, or the package that it is itself."""
    package = module.partition(".")[0]
    is_package = "." in module and import_paths[0] == package
    return root / package if is_package else root


def _own_names(root: Path, own_paths: Sequence[str]) -> list[str]:
    """Returns the names that modules of the submission may have, wherever they lie."""
    folders = [root, *map(Path, own_paths), *(path for path in root.glob("*/") if path.is_dir())]
    return sorted({path.stem for folder in folders for path in folder.glob("*")})
