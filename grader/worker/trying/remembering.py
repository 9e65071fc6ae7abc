"""Remembers what a submission's modules hold after their import, to begin each trial from there."""

from __future__ import annotations

import contextlib
import functools
import gc
import operator
import sys
from collections.abc import Callable, Container, Iterable
from types import CellType, FunctionType, ModuleType
from typing import Any

_Cached = type(functools.lru_cache(lambda: None))
_MOST = 2000
# Their caches take 2.0 for 2, and keep what came of whichever was first.
_CACHE_BY_NUMBERS = ("einops", "einx")


class State:
    """What modules hold: their names, and what containers there hold.

    Two levels deep: a cache in a module, in a class or in an object that a module made. And what
    their functions hold, in defaults and of the functions around them, as decorators do that
    remember; what is cached of functions of files below `root`, `within` these modules if that is
    told, and of packages that remember shapes.
    """

    def __init__(
        self,
        root: str,
        own: Iterable[ModuleType],
        functions: Iterable[FunctionType] = (),
        within: Container[int] | None = None,
    ) -> None:
        modules = [vars(module) for module in own]
        self._names = [(names, dict(names)) for names in modules]
        self._kept: list[tuple[Callable[[], object], Callable[[Any], object], Any]] = []
        self._seen: set[int] = set(map(id, modules))
        for names in modules:
            for value in list(names.values()):
                self._keep(value, {names.get("__name__")})
        self._cells: list[tuple[CellType, object]] = []
        for function in functions:
            self._keep_held(function)
        self._caches = [
            one
            for one in gc.get_objects()
            if type(one) is _Cached
            and _file_of(one).startswith(root)
            and (within is None or id(one.__wrapped__.__globals__) in within)
        ]
        self._caches += _caches_of_packages()

    def restore(self) -> None:
        """Puts everything back to how it was."""
        for names, before in self._names:
            # By identity: whether two tensors are equal has no one answer.
            same = list(names) == list(before)
            if not same or not all(map(operator.is_, names.values(), before.values())):
                names.clear()
                names.update(before)
        for cell, value in self._cells:
            cell.cell_contents = value
        for clear, fill, content in self._kept:
            clear()
            fill(content)
        for cache in self._caches:
            cache.cache_clear()

    def _keep_held(self, function: FunctionType) -> None:
        """What a function holds that is neither its own variable nor its module's."""
        modules = {function.__module__}
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # nothing was put into it yet
                value = cell.cell_contents
                self._cells.append((cell, value))
                self._keep(value, modules)
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._keep(value, modules)
        self._keep(vars(function), modules)

    def _keep(self, value: object, modules: set[Any], depth: int = 3) -> None:
        if id(value) in self._seen or len(self._kept) >= _MOST or not depth:
            return
        self._seen.add(id(value))
        if isinstance(value, dict | set):
            self._kept.append((value.clear, value.update, value.copy()))
        elif isinstance(value, list):
            self._kept.append((value.clear, value.extend, value.copy()))
        elif isinstance(value, type) and value.__module__ in modules:
            for one in list(vars(value).values()):
                self._keep(one, modules, depth - 1)
            return
        elif type(value).__module__ in modules and hasattr(value, "__dict__"):
            self._keep(vars(value), modules, depth - 1)
            return
        if isinstance(value, dict):
            for one in list(value.values()):
                self._keep(one, modules, depth - 1)


def modules_below(root: str) -> list[ModuleType]:
    """The loaded modules of files below `root`."""
    return [
        module
        for module in list(sys.modules.values())
        if str(getattr(module, "__file__", None) or "").startswith(root)
    ]


def _caches_of_packages() -> list[Any]:
    """What packages cache by numbers: the collector no longer knows what was loaded ahead."""
    return [
        one
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in _CACHE_BY_NUMBERS
        for one in vars(module).values()
        if type(one) is _Cached
    ]


def _file_of(cache: Any) -> str:
    code = getattr(getattr(cache, "__wrapped__", None), "__code__", None)
    return getattr(code, "co_filename", "")
