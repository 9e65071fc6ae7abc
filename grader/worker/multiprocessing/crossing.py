"""What goes to a process and comes back is a copy, as if there were one; what is shared is shared.

Whoever changes an argument changes a copy of it there, and so it is here.
"""

from __future__ import annotations

import ctypes
import functools
import io
import pickle
import sys
from multiprocessing.sharedctypes import SynchronizedBase
from typing import Any

import torch

# What the memory of processes that share it is made of.
_OF_MEMORY = (
    *(ctypes._SimpleCData, ctypes.Array, ctypes.Structure, ctypes.Union, SynchronizedBase),
    torch.Tensor,
)


class Shared:
    """What processes have in common: it crosses as it is."""

    def crossed(self) -> Any:
        """What the other side gets."""
        return self


class Waitable(Shared):
    """What a process may wait on until another one does something."""


class _Packing(pickle.Pickler):
    """Writes what crosses, and keeps apart what is shared."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.shared: list[Any] = []

    def persistent_id(self, thing: Any) -> int | None:
        if not isinstance(thing, (Shared, *_OF_MEMORY)):
            return None
        self.shared.append(thing)
        return len(self.shared) - 1


class _Unpacking(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, shared: list[Any]) -> None:
        super().__init__(file)
        self._shared = shared

    def persistent_load(self, number: Any) -> Any:
        thing = self._shared[number]
        return thing.crossed() if isinstance(thing, Shared) else thing

    def find_class(self, module: str, name: str) -> Any:
        """What is called so; of a module that another thread is just importing, without waiting."""
        if module not in sys.modules:
            return super().find_class(module, name)
        return functools.reduce(getattr, name.split("."), sys.modules[module])


class Packed:
    """Something on its way.

    Raises:
        Exception: whatever `pickle` raises of what cannot cross.
    """

    def __init__(self, thing: Any) -> None:
        self._file = io.BytesIO()
        packing = _Packing(self._file)
        packing.dump(thing)
        self._shared = packing.shared

    @property
    def may_wait(self) -> bool:
        """Whether somebody who gets this may wait for others."""
        return any(isinstance(one, Waitable) for one in self._shared)

    def unpacked(self) -> Any:
        """The copy that arrives, as processes make theirs."""
        self._file.seek(0)
        return _Unpacking(self._file, self._shared).load()


def crossed(thing: Any) -> Any:
    """A copy, made as processes make theirs.

    Raises:
        Exception: whatever `pickle` raises of what cannot cross.
    """
    return Packed(thing).unpacked()


def inherited(thing: Any) -> Any:
    """A copy as a forked process has it: also of what cannot cross, which is then no copy."""
    try:
        return crossed(thing)
    except Exception:  # whatever a submission's own `__reduce__` raises
        return thing
