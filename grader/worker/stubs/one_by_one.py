"""What stands in for an absent joblib: it does the work, one call after another."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from grader.worker.multiprocessing.crossing import inherited

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
    """How many processors there are."""
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
