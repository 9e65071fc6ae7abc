"""A second, fresh import of the student's modules, in which edits can be tried."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

from grader.core.names import is_adapter
from grader.worker.observing.lines import OwnLines


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
        with self.in_place():
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
