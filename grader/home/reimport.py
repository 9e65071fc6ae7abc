"""A second, fresh import of the student's modules, in which edits can be tried."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from grader.core.names import is_adapter
from grader.worker.observing.lines import OwnLines


def _use_device(device: torch.device) -> None:
    # A default device that is set explicitly costs time in every call of torch.
    torch.set_default_device(None if device.type == "cpu" else device)


# Settings of torch on which the tests' own tensors depend: how to read and to set each.
_SETTINGS: Sequence[tuple[Callable[[], Any], Callable[[Any], object]]] = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_default_device, _use_device),
    (torch.is_grad_enabled, torch.set_grad_enabled),
)


class OwnSettings:
    """The settings of torch that a student's code makes; they hold only while that code runs.

    In class the tests run in another process.
    """

    def __init__(self) -> None:
        self._own: list[object] = []

    @contextlib.contextmanager
    def in_force(self) -> Iterator[None]:
        """Makes the settings hold, and keeps those that the code leaves."""
        before = [read() for read, _ in _SETTINGS]
        _set(self._own or before)
        try:
            yield
        finally:
            self._own = [read() for read, _ in _SETTINGS]
            _set(before)


def _set(values: Sequence[object]) -> None:
    for (read, write), value in zip(_SETTINGS, values, strict=True):
        if read() != value:
            write(value)


class CannotCopy(Exception):
    """The student's modules cannot be imported again, or edits of them could end this process."""


class Reimport:
    """A second import of the adapters, and of the student's modules that they import.

    State that tests left in the first copy is not in this one. Changes to this copy are not seen
    in the first.

    Raises:
        CannotCopy: if the import raises.
    """

    def __init__(self, root: Path) -> None:
        self._lines = OwnLines(root)
        self._copies: dict[str, ModuleType] = {}
        # The modules that are not the student's, among a thousand others: each is asked once.
        self._others: dict[str, ModuleType] = {}
        self.settings = OwnSettings()
        with self.in_place(), self.settings.in_force():
            try:
                adapters = importlib.import_module("adapters")
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a student's code may raise anything at all
                raise CannotCopy from error
            self.functions: dict[str, Callable[..., object]] = {
                name: value
                for name, value in vars(adapters).items()
                if is_adapter(name) and callable(value)
            }

    @property
    def modules(self) -> Sequence[ModuleType]:
        """Returns the modules of the copy."""
        return list(self._copies.values())

    @property
    def files(self) -> Sequence[Path]:
        """Returns the files of the copied modules."""
        return [Path(file) for one in self.modules if (file := _file_of(one)) is not None]

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Makes imports find the copies instead of the first modules."""
        first = self._own_modules()
        try:
            _exchange(first, self._copies)
            yield
        finally:
            self._copies = self._own_modules()
            _exchange(self._copies, first)

    def _own_modules(self) -> dict[str, ModuleType]:
        own: dict[str, ModuleType] = {}
        for name, one in list(sys.modules.items()):
            if not isinstance(one, ModuleType) or self._others.get(name) is one:
                continue
            kind = own if name != "__main__" and self._is_own(one) else self._others
            kind[name] = one
        return own

    def _is_own(self, module: ModuleType) -> bool:
        file = _file_of(module)
        # A folder without __init__.py has no file.
        places = [file] if file is not None else list(vars(module).get("__path__", ()))
        return any(self._lines.holds(place) for place in places)


def _file_of(module: ModuleType) -> str | None:
    # A module's `__getattr__` may do anything: look in its dictionary only.
    file = vars(module).get("__file__")
    return file if isinstance(file, str) else None


def _exchange(old: dict[str, ModuleType], new: dict[str, ModuleType]) -> None:
    for name in old:
        sys.modules.pop(name, None)
    sys.modules.update(new)
