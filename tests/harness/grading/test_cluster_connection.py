"""The connection to a scheduler, with a package for clusters that a test plays."""

from __future__ import annotations

import contextlib
import logging
import sys
from types import ModuleType
from typing import Any

import pytest

from grader.core.assignment import Settings
from grader.grading.cluster import connection
from grader.grading.cluster import pool as pools
from grader.grading.cluster.connection import NoCluster, chosen_pools, connected

pytestmark = pytest.mark.unit

PLACE = "tcp://10.0.0.5:8786"


class Dask:
    """The package, whose scheduler refuses to answer if there is a `problem`."""

    def __init__(self) -> None:
        self.problem: Exception | None = None
        self.done: list[Any] = []

    def get_connection_args(self, role: str) -> dict[str, Any]:
        return {"role": role}

    async def connect(self, address: str, seconds: float, **arguments: Any) -> Dask:
        assert seconds > 0
        self.done.append(("connect", address, arguments))
        if self.problem is not None:
            raise self.problem
        return self

    async def close(self) -> None:
        self.done.append("hang up")

    def client(self, address: str, timeout: float, set_as_default: bool) -> Any:
        assert timeout > 0
        assert not set_as_default
        self.done.append(("client", address, level()))
        return self.Client(self)

    class Client:
        """A connected client."""

        def __init__(self, dask: Dask) -> None:
            self.dask = dask

        def close(self) -> None:
            self.dask.done.append("close")


def level() -> int:
    """Returns the least level at which the package still logs."""
    return logging.getLogger("distributed.client").level


@pytest.fixture
def dask(monkeypatch) -> Dask:
    """The package, in the place of the real one."""
    own = Dask()
    package, core = ModuleType("distributed"), ModuleType("distributed.comm.core")
    package.Client, package.Security, core.connect = own.client, lambda: own, own.connect
    monkeypatch.setitem(sys.modules, "distributed", package)
    monkeypatch.setitem(sys.modules, "distributed.comm.core", core)
    return own


def test_a_connection_is_tried_first_and_closed_at_the_end(dask):
    """The package's own log is off meanwhile, and as before afterwards."""
    before = level()
    with connected(PLACE):
        assert dask.done == [
            ("connect", PLACE, {"role": "client"}),
            "hang up",
            ("client", PLACE, logging.CRITICAL + 1),
        ]
        assert level() == logging.CRITICAL + 1
    assert dask.done[-1] == "close"
    assert level() == before
    with pytest.raises(LookupError), connected(PLACE):
        raise LookupError
    assert dask.done.count("close") == 2


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (OSError("refused.\nmore"), "refused"),
        (ValueError(), "ValueError"),
        (TimeoutError(), "TimeoutError"),
    ],
    ids=repr,
)
def test_a_scheduler_that_does_not_answer_is_told_in_one_sentence(dask, problem, reason):
    """Nothing is connected then."""
    dask.problem, before = problem, level()
    with pytest.raises(NoCluster) as lost:
        connected(PLACE).__enter__()
    assert str(lost.value).startswith(f"no Dask scheduler answers at {PLACE} ({reason}): is `dask")
    assert len(dask.done) == 1
    assert level() == before


@pytest.mark.parametrize("address", [PLACE, "tls://host:1"])
def test_a_complete_address_is_taken(dask, address):
    with connected(address):
        assert dask.done[0][1] == address


@pytest.mark.parametrize("address", ["tcp://:8786", "tcp://a:1/x", "tcp://a:0", "//a:1", ""])
def test_an_incomplete_address_is_refused_before_anything_is_tried(dask, address):
    with pytest.raises(NoCluster, match="the scheduler's address must be like"):
        connected(address).__enter__()
    assert dask.done == []


def test_the_pool_of_a_cluster_is_chosen_by_the_address(monkeypatch):
    """Isolation is required there and not here."""
    made: list[Any] = []

    def connect(address: str) -> Any:
        return contextlib.nullcontext(f"client of {address}")

    monkeypatch.setattr(connection, "connected", connect)
    monkeypatch.setattr(pools, "ClusterPool", lambda *given: made.append(given))
    settings = Settings("course", 5, (), "adapters.py", 1.0, 64, "suite")
    with chosen_pools(PLACE, 3, print, require_isolation=True) as chosen:
        chosen(settings)
    assert made == [(f"client of {PLACE}", PLACE, settings, print, 3, True)]
