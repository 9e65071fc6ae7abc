"""The choice between this machine and a Dask cluster, and the connection to its scheduler.

Only the cluster needs the package `distributed`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from grader.core.processes import processors
from grader.core.text import Refusal
from grader.grading.coordinator import Coordinator
from grader.grading.options import Pools
from grader.grading.options import require_isolation as require_every_layer

if TYPE_CHECKING:
    from distributed import Client

_SECONDS = 10
_LOUD = ("distributed", "distributed.client", "distributed.core", "distributed.comm.core")


class NoCluster(Refusal):
    """A cluster that cannot be reached or used; the text is one sentence that says why."""


@contextlib.contextmanager
def connected(address: str) -> Iterator[Client]:
    """Provides a connection to the scheduler at an address.

    Dask's own log is off meanwhile: the grader reports in sentences.

    Raises:
        NoCluster: if the address is malformed, nothing answers there, or `distributed` is missing.
    """
    _check(address)
    try:
        from distributed import Client, Security
        from distributed.comm.core import connect
    except ImportError as error:
        raise NoCluster(
            "--scheduler needs the package distributed, which is not installed: "
            "pip install 'attention-grader[distributed]'"
        ) from error

    async def shake_hands() -> None:
        """Connects once, because a client that cannot connect takes long to close."""
        arguments = Security().get_connection_args("client")
        comm = await asyncio.wait_for(connect(address, _SECONDS, **arguments), _SECONDS)
        await comm.close()

    with _still():
        try:
            asyncio.run(shake_hands())
            client = Client(address, timeout=_SECONDS, set_as_default=False)
        except Exception as error:  # the peer may be any program
            reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
            raise NoCluster(
                f"no Dask scheduler answers at {address} ({reason}): is `dask scheduler` running "
                "there, of the same version, and are its TLS settings known here?"
            ) from error
        try:
            yield client
        finally:
            client.close()


def _check(address: str) -> None:
    with contextlib.suppress(ValueError):
        parts = urlsplit(address)
        if parts.scheme in ("tcp", "tls") and parts.hostname and parts.port and not parts.path:
            return
    raise NoCluster(
        f"the scheduler's address must be like tcp://10.0.0.5:8786, as `dask scheduler` prints it, "
        f"not {address!r}"
    )


@contextlib.contextmanager
def _still() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in _LOUD]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="distributed")
        warnings.filterwarnings("ignore", module="contextlib")
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


Say = Callable[[str], None]


@contextlib.contextmanager
def chosen_pools(
    scheduler: str | None,
    jobs: int | None,
    say: Say,
    require_isolation: bool = False,
    waits: Say | None = None,
) -> Iterator[Pools]:
    """Provides pools of `jobs` judges, here or on the cluster of the scheduler at that address.

    By default there are as many judges as processors here, or as threads there. `say` gets
    sentences about the cluster's machines, `waits` sentences about submissions that take long here.
    If isolation is required, it is required of the machines that grade.

    Raises:
        NotIsolated: if isolation is required here and does not hold.
        NoCluster: if the scheduler does not answer, or the package for it is not installed.
    """
    if scheduler is None:
        if require_isolation:
            require_every_layer()
        yield lambda settings: Coordinator(settings, jobs or processors(), say=waits)
        return
    with connected(scheduler) as client:
        from grader.grading.cluster.pool import ClusterPool

        yield lambda settings: ClusterPool(
            client, scheduler, settings, say, jobs, require_isolation
        )
