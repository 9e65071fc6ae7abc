"""Stand-ins for absent packages: joblib, progress bars and logbooks."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from types import FunctionType, ModuleType
from typing import Any

from grader.worker.multiprocessing.copying import inherited
from grader.worker.stubs.stub import absent_exception, names_exception

Delayed = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def delayed(function: Callable[..., Any]) -> Callable[..., Delayed]:
    """Notes calls of a function, as `joblib.delayed`."""

    @functools.wraps(function)
    def noted(*args: Any, **kwargs: Any) -> Delayed:
        return function, args, kwargs

    return noted


class Parallel:
    """Does calls that were noted, as `joblib.Parallel`."""

    def __init__(self, n_jobs: int | None = None, *_: Any, **options: Any) -> None:
        self.n_jobs = n_jobs
        self._gives = options.get("return_as", "list")
        self._copies = n_jobs not in (None, 1) and options.get("backend") != "threading"

    def __call__(self, iterable: Iterable[Delayed]) -> Any:
        results = map(self._done, iterable)
        return list(results) if self._gives == "list" else results

    def _done(self, call: Delayed) -> Any:
        function, args, kwargs = inherited(call) if self._copies else call
        return function(*args, **kwargs)

    def __enter__(self) -> Parallel:
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to end."""


def cpu_count(*_: object, **__: object) -> int:
    """Returns how many processors there are."""
    return os.cpu_count() or 1


def effective_n_jobs(n_jobs: int = -1) -> int:
    """One: nothing is done beside anything else."""
    del n_jobs
    return 1


@contextlib.contextmanager
def parallel_config(*_: object, **__: object) -> Iterator[None]:
    """Changes nothing, as nothing is done in parallel."""
    yield


parallel_backend = parallel_config
WORKING = {
    own.__name__: own for own in (Parallel, delayed, cpu_count, effective_n_jobs, parallel_config)
} | {"parallel_backend": parallel_backend}


# `tqdm.auto.tqdm` goes through its items, whether `tqdm.auto` was imported or not.
_MODULES_OF_BARS = ("asyncio", "auto", "autonotebook", "concurrent", "contrib", "notebook", "std")


class Progress:
    """A progress bar that goes through its items and shows nothing (as `tqdm.tqdm`)."""

    def __init__(self, iterable: Iterable[Any] | None = None, *_: Any, **options: Any) -> None:
        self.iterable = iterable
        self.n = 0
        own = len(iterable) if isinstance(iterable, Sized) else None
        self.total = options.get("total", own)

    def __iter__(self) -> Iterator[Any]:
        for item in self.iterable if self.iterable is not None else ():
            yield item
            self.n += 1

    def __len__(self) -> int:
        return len(self.iterable) if isinstance(self.iterable, Sized) else self.total or 0

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
    def set_lock(cls, lock: object) -> None:
        """Keeps nothing: nothing is written that could be mixed up."""

    @classmethod
    def get_lock(cls) -> Any:
        """Returns a lock that nobody else has."""
        return threading.RLock()

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

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent_exception(name) if names_exception(name) else Silent()

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

    def __or__(self, _other: object) -> Silent:
        return self

    __ror__ = __or__

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
    """The base of a submission's class that derives from a class of an absent package."""

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
        self.__version__ = "0.0.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if name in _PROGRESS:
            return _PROGRESS[name]
        if name in _MODULES_OF_BARS:
            return SilentModule(f"{self.__name__}.{name}")
        if names_exception(name):
            return absent_exception(f"{self.__name__}.{name}")
        if name in ("init", "finish"):
            return functools.partial(self._set_run, Silent() if name == "init" else None)
        return Silent()

    def _set_run(self, run: Silent | None, *_: object, **__: object) -> Silent | None:
        self.run = run
        return run


def _counting(*bounds: int, **options: Any) -> Progress:
    return Progress(range(*bounds), **options)


def _mapped(function: Callable[..., Any], *iterables: Iterable[Any], **_: object) -> list[Any]:
    return [function(*items) for items in zip(*iterables, strict=False)]


def _zipped(*iterables: Iterable[Any], **_: object) -> Iterator[Any]:
    return zip(*iterables, strict=False)


def _numbered(iterable: Iterable[Any], start: int = 0, **_: object) -> Iterator[Any]:
    return enumerate(iterable, start)


_PROGRESS: Mapping[str, Callable[..., Any]] = {
    **dict.fromkeys(("tqdm", "tqdm_notebook"), Progress),
    **dict.fromkeys(("trange", "tnrange"), _counting),
    **dict.fromkeys(("process_map", "thread_map", "tmap"), _mapped),
    **{"tenumerate": _numbered, "tzip": _zipped},
}


def _nothing(*_: object, **__: object) -> None:
    return None
