"""Runs the cells of a notebook in order; an error in one does not keep the others from running.

No module of the engine: a copy of this file, with a call of `_run_cells` at its end, is what a
worker imports where the adapters are a notebook. `__cell_errors__` holds what each cell raised, by
the cell's name.
"""

from __future__ import annotations

import importlib.abc as _abc
import importlib.machinery as _machinery
import types as _types
import typing as _typing

__cell_errors__: dict[str, BaseException] = {}


class _Notebook(_types.ModuleType):
    """Stands for what exists only in a notebook: anything can be asked of it, nothing happens."""

    def __getattr__(self, name: str) -> _Notebook:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Notebook(f"{self.__name__}.{name}")

    def __call__(self, *_args: object, **_options: object) -> _Notebook:
        return self

    def __iter__(self) -> _typing.Iterator[object]:
        return iter(())


class _NotebookModules(_abc.MetaPathFinder, _abc.Loader):
    """Finds `IPython` and `google.colab` where they are not installed."""

    def find_spec(
        self, name: str, _path: object = None, _target: object = None
    ) -> _machinery.ModuleSpec | None:
        known = name == "google" or f"{name}.".startswith(("google.colab.", "IPython."))
        return _machinery.ModuleSpec(name, self, is_package=True) if known else None

    def create_module(self, spec: _machinery.ModuleSpec) -> _types.ModuleType:
        return _types.ModuleType("google") if spec.name == "google" else _Notebook(spec.name)

    def exec_module(self, module: _types.ModuleType) -> None:
        """Nothing is in it."""


def display(*_values: object, **_options: object) -> None:
    """Stands for the notebook's own: nobody looks here."""


def get_ipython() -> _Notebook:
    """Stands for the notebook's own shell, which runs nothing here."""
    return _Notebook("shell")


def _run_cells(notebook: str, cells: dict[str, list[str]]) -> None:
    """Runs the cells (by name, each with the adapters that it defines) as one module."""
    import __future__

    import sys
    from pathlib import Path

    sys.meta_path.append(_NotebookModules())
    flags = 0
    failed: dict[str, BaseException] = {}
    for cell in cells:
        path = Path(__file__).parent / notebook / cell
        try:
            code = compile(path.read_bytes(), str(path), "exec", flags, dont_inherit=True)
            # A future import holds for the later cells too, as in a notebook.
            flags |= code.co_flags & __future__.annotations.compiler_flag
            exec(code, globals())
        except (Exception, SystemExit) as error:
            failed[cell] = __cell_errors__[cell] = error
    if failed and not any(name.startswith("run_") for name in globals()):
        raise next(iter(failed.values()))
    for cell, raised in failed.items():
        for name in cells[cell]:
            globals().setdefault(name, _undefined(name, cell, raised))


def _undefined(name: str, cell: str, error: BaseException) -> _typing.Callable[..., None]:
    """An adapter whose cell raised before it was defined, and that says so when it is called."""

    def adapter(*_args: object, **_options: object) -> None:
        if isinstance(error, SyntaxError):
            place = (error.filename, error.lineno, error.offset, error.text)
            raise SyntaxError(f"{error.msg}, so {name} is not defined", place)
        reason = f"{cell} raised {type(error).__name__}: {error}, so {name} is not defined"
        raise NameError(reason).with_traceback(error.__traceback__)

    return adapter
