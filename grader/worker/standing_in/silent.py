"""Progress bars and logbooks that show and keep nothing, where the packages for them are absent."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any


class Progress:
    """A progress bar that goes through its items and shows nothing (as `tqdm.tqdm`)."""

    def __init__(self, iterable: Iterable[Any] | None = None, *_: Any, **options: Any) -> None:
        self._iterable = iterable
        self.n = 0
        self.total = options.get("total")

    def __iter__(self) -> Iterator[Any]:
        return iter(self._iterable if self._iterable is not None else ())

    def __len__(self) -> int:
        return len(self._iterable) if hasattr(self._iterable, "__len__") else self.total or 0  # type: ignore[arg-type]

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def update(self, n: float = 1) -> None:
        """Counts, and shows nothing."""
        self.n += int(n)

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing

    @classmethod
    def write(cls, *_: object, **__: object) -> None:
        """Writes nothing."""

    @classmethod
    def pandas(cls, *_: object, **__: object) -> None:
        """Changes nothing."""


class Silent:
    """Takes every name and every call, and does nothing: a logger, a run, a writer.

    Nothing is an instance of it; a class may be derived from it; saved, it is empty.
    """

    def __getattr__(self, name: str) -> Silent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Silent()

    def __setattr__(self, _name: str, _value: object) -> None:
        return None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], FunctionType | type):
            return args[0]
        return Silent()

    def __getitem__(self, _key: object) -> Silent:
        return Silent()

    def __setitem__(self, _key: object, _value: object) -> None:
        return None

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def __mro_entries__(self, _bases: tuple[object, ...]) -> tuple[type, ...]:
        return (SilentBase,)

    def __instancecheck__(self, _instance: object) -> bool:
        return False

    def __subclasscheck__(self, _subclass: type) -> bool:
        return False

    def __reduce__(self) -> tuple[type, tuple[()]]:
        # Whoever loads it need not have this class; `torch.load` takes this one by default.
        return OrderedDict, ()

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class SilentBase:
    """What a class of the submission is derived from in place of a class of an absent package."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Silent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Silent()


class SilentModule(ModuleType):
    """A package of which every name does nothing; those of progress bars go through their items.

    Its `run` is None until `init` is called and after `finish`, as that of wandb.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.run: Silent | None = None
        self.__path__: list[str] = []
        self.__all__: list[str] = []
        self.__version__ = "0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if name in ("tqdm", "tqdm_notebook"):
            return Progress
        if name in ("trange", "tnrange"):
            return _counting
        if name in ("init", "finish"):
            return functools.partial(self._set_run, Silent() if name == "init" else None)
        return Silent()

    def _set_run(self, run: Silent | None, *_: object, **__: object) -> Silent | None:
        self.run = run
        return run


def _counting(*bounds: int, **options: Any) -> Progress:
    return Progress(range(*bounds), **options)


def _nothing(*_: object, **__: object) -> None:
    return None
