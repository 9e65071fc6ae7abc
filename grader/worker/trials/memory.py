"""The state of a submission's modules after their import, from which each trial begins.

It includes the settings of torch for the whole process, because a call may change them.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import operator
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from types import CellType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import torch

# Settings of torch: how to read each, and how to set it to a value that was read.
_SETTINGS: Sequence[tuple[Callable[[], Any], Callable[[Any], object]]] = (
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_default_device, torch.set_default_device),
)
_Cached = type(functools.lru_cache(lambda: None))
_MOST = 2000
_DEEPEST = 6
# Larger containers hold data rather than objects with state.
_WIDEST = 500
# The elements of all tensors together, which are copied before each trial.
_MOST_NUMBERS = 1 << 16
# Their caches take 2.0 for 2, and keep the result for the one that was first.
_CACHE_BY_NUMBERS = ("einops", "einx")
_ABSENT = object()
# The parts of a function that an edit exchanges.
_PARTS = ("__code__", "__defaults__", "__kwdefaults__")
# Names that Python itself sets.
_NOT_THEIRS = ("__builtins__", "__warningregistry__")

Names = dict[str, Any]


class State:
    """The state of modules: their names, and a few levels of their objects and containers.

    It includes code, defaults and closures of functions, and caches of functions in files below
    `root` (`within` these modules, if any are given). It also includes caches of packages that
    remember shapes, and torch's settings.
    """

    def __init__(
        self,
        root: str,
        own: Iterable[ModuleType],
        functions: Iterable[FunctionType] = (),
        within: Container[int] | None = None,
    ) -> None:
        modules = [vars(module) for module in own]
        self._modules = {names.get("__name__") for names in modules}
        self._names: list[tuple[Names, Names]] = [(names, dict.copy(names)) for names in modules]
        self._classes: list[tuple[type, Names]] = []
        self._functions = [(one, _parts(one)) for one in functions]
        self._kept: list[_Container] = []
        self._tensors: list[_Tensor] = []
        self._left = _MOST_NUMBERS
        self._seen: set[int] = set(map(id, modules))
        values = [value for names in modules for value in names.values()]
        for value in sorted(values, key=lambda one: not issubclass(type(one), type)):
            self._keep(value)
        self._cells: list[tuple[CellType, object]] = []
        for function, _ in [*self._functions]:
            self._keep_held(function)
        self._caches = [
            one
            for one in gc.get_objects()
            if type(one) is _Cached
            and _file_of(one).startswith(root)
            and (within is None or id(one.__wrapped__.__globals__) in within)
        ]
        self._caches_of_packages = _caches_of_packages()
        self._settings = [(read, write, read()) for read, write in _SETTINGS]

    def restore(self) -> None:
        """Restores the whole state."""
        for tensor in self._tensors:
            tensor.restore()
        for container in self._kept:
            container.restore()
        for names, before in self._names:
            for name in _differing(dict.copy(names), before):
                _put_back_name(names, name, before)
        for kind, before in self._classes:
            for name in _differing(vars(kind), before):
                _put_back_member(kind, name, before)
        for function, parts in self._functions:
            for name, part in zip(_PARTS, parts, strict=True):
                if getattr(function, name) is not part:
                    setattr(function, name, part)
        for cell, value in self._cells:
            cell.cell_contents = value
        for read, write, value in self._settings:
            if read() != value:
                write(value)
        for cache in (*self._caches, *self._caches_of_packages):
            cache.cache_clear()

    def _keep_held(self, function: FunctionType) -> None:
        """Keeps the values of a function's closure, defaults, attributes and global names."""
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # the cell is still empty
                value = cell.cell_contents
                self._cells.append((cell, value))
                self._keep(value)
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._keep(value)
        self._keep_names(vars(function), _DEEPEST)
        self._keep_names(function.__globals__, _DEEPEST)

    def _keep(self, value: object, depth: int = _DEEPEST) -> None:
        if id(value) in self._seen or len(self._seen) >= _MOST or not depth:
            return
        with contextlib.suppress(Exception):  # a student's object may raise when it is looked at
            self._keep_value(value, depth)

    def _keep_value(self, value: object, depth: int) -> None:
        inner: Collection[object] = ()
        if isinstance(value, dict | set | list | deque):
            container = _Container(value)
            self._kept.append(container)
            inner = container.values
        elif isinstance(value, tuple):
            inner = value
        elif isinstance(value, torch.Tensor):
            self._keep_tensor(value)
        elif isinstance(value, type) and value.__module__ in self._modules:
            self._classes.append((value, dict(vars(value))))
            inner = vars(value).values()
            # A dataclass and a named tuple have functions that are of no file.
            members = (getattr(one, "__func__", one) for one in inner)
            self._functions += [(one, _parts(one)) for one in members if type(one) is FunctionType]
        elif self._has_attributes(value):
            self._keep_names(vars(value), depth)
        else:
            return
        self._seen.add(id(value))
        for one in list(inner) if len(inner) <= _WIDEST else ():
            self._keep(one, depth - 1)

    def _keep_names(self, names: Names, depth: int) -> None:
        if id(names) in self._seen:
            return
        self._seen.add(id(names))
        before = dict.copy(names)
        self._names.append((names, before))
        for one in before.values():
            self._keep(one, depth - 1)

    def _keep_tensor(self, tensor: torch.Tensor) -> None:
        is_plain = tensor.layout is torch.strided and tensor.device.type == "cpu"
        if is_plain and not tensor.is_conj() and tensor.numel() <= self._left:
            self._left -= tensor.numel()
            self._tensors.append(_Tensor(tensor))

    def _has_attributes(self, value: object) -> bool:
        """Returns whether a value is of an own class, a module or a namespace."""
        is_own = type(value).__module__ in self._modules or isinstance(value, torch.nn.Module)
        return (is_own or type(value) is SimpleNamespace) and hasattr(value, "__dict__")


def _parts(function: FunctionType) -> list[object]:
    return [getattr(function, name) for name in _PARTS]


class _Container:
    """A container, with the content that it held.

    A subclass may give the methods another meaning, and an attribute may hide one: `Counter.update`
    adds. The methods of the standard class are called therefore.
    """

    def __init__(self, value: Any) -> None:
        self._value = value
        bases: Sequence[Any] = (OrderedDict, dict, set, list, deque)
        self._base = next(base for base in bases if isinstance(value, base))
        self._content = self._now()

    @property
    def values(self) -> list[object]:
        """Returns the items that it held, without keys."""
        is_dict = issubclass(self._base, dict)
        return [value for _, value in self._content] if is_dict else self._content

    def restore(self) -> None:
        if self._ids(self._now()) == self._ids(self._content):
            return
        self._base.clear(self._value)
        if self._base in (list, deque):
            self._base.extend(self._value, self._content)
        elif self._base is OrderedDict:  # whose `update` is written in Python
            for key, value in self._content:
                OrderedDict.__setitem__(self._value, key, value)
        else:
            self._base.update(self._value, self._content)

    def _now(self) -> list[Any]:
        """Returns the items; those of a dict are pairs."""
        is_dict = issubclass(self._base, dict)
        return [*(self._base.items if is_dict else self._base.__iter__)(self._value)]

    def _ids(self, content: Sequence[Any]) -> object:
        """Returns the ids of items: two equal items may be different objects."""
        if issubclass(self._base, dict):
            return [(id(key), id(value)) for key, value in content]
        return {*map(id, content)} if self._base is set else [*map(id, content)]


class _Tensor:
    """A tensor, with the values that it held: a call may change them in place, or replace them."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor
        self._memory = tensor.detach()
        self._numbers = self._memory.clone()

    def restore(self) -> None:
        with torch.no_grad(), contextlib.suppress(RuntimeError):
            self._memory.copy_(self._numbers)
            if self._tensor.data_ptr() != self._memory.data_ptr():
                self._tensor.data = self._memory


def modules_below(root: str) -> list[ModuleType]:
    """Returns the loaded modules of files below `root`."""
    return [
        module
        for module in list(sys.modules.values())
        if str(getattr(module, "__file__", None) or "").startswith(root)
    ]


def _differing(now: Mapping[str, Any], before: Names) -> list[str]:
    """Returns the names whose objects have changed."""
    if [*now] == [*before] and all(map(operator.is_, now.values(), before.values())):
        return []
    names = [name for name in dict.fromkeys((*before, *now)) if name not in _NOT_THEIRS]
    return [name for name in names if now.get(name, _ABSENT) is not before.get(name, _ABSENT)]


def _put_back_name(names: Names, name: str, before: Names) -> None:
    if name in before:
        dict.__setitem__(names, name, before[name])
    else:
        dict.pop(names, name, None)


def _put_back_member(kind: type, name: str, before: Names) -> None:
    with contextlib.suppress(AttributeError, TypeError):  # not all can be set
        if name in before:
            type.__setattr__(kind, name, before[name])
        else:
            type.__delattr__(kind, name)


def _caches_of_packages() -> list[Any]:
    """Returns packages' caches by numbers; the collector does not list preloaded objects."""
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
