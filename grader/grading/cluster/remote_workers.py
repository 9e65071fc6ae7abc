"""Which Dask workers grade for a batch, how busy each is, and which are refused."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

# The next submission is there when one is done; more would wait behind a slow one.
_AHEAD = 2


@dataclass(slots=True)
class Occupancy:
    """A Dask worker that grades: how many submissions at a time, and how many it has been sent."""

    jobs: int
    sent: int = 0


class RemoteWorkers:
    """The Dask workers of a cluster, by their addresses, as far as a batch knows them."""

    def __init__(self) -> None:
        self._open: dict[str, Occupancy] = {}
        self._opening: set[str] = set()
        self.refused: dict[str, str] = {}

    @property
    def jobs(self) -> int:
        """How many submissions can be graded at a time."""
        return sum(occupancy.jobs for occupancy in self._open.values())

    @property
    def addresses(self) -> list[str]:
        """Returns those that grade, or may have begun to."""
        return [*self._open, *self._opening]

    @property
    def is_hopeless(self) -> bool:
        """Returns whether every Dask worker that is there was refused."""
        return bool(self.refused) and not self._open and not self._opening

    def ask(self, addresses: Collection[str]) -> list[str]:
        """Returns those of the addresses that are new, and are to be asked what they are."""
        known = {*self._open, *self._opening, *self.refused}
        new = [address for address in addresses if address not in known]
        self._opening.update(new)
        return new

    def open(self, address: str, jobs: int) -> None:
        """The Dask worker grades, if it has not left."""
        if address in self._opening:
            self._opening.discard(address)
            self._open[address] = Occupancy(jobs)

    def refuse(self, address: str, reason: str) -> bool:
        """Gives a Dask worker nothing more to grade; returns whether that is news."""
        was_asked = address in self._opening
        if was_asked:
            self._opening.discard(address)
            self.refused[address] = reason
        return was_asked

    def forget(self, address: str) -> None:
        """The Dask worker has left."""
        self._opening.discard(address)
        self._open.pop(address, None)
        self.refused.pop(address, None)

    def place(self, waiting: int, shunned: Collection[str]) -> str | None:
        """Where the next of so many `waiting` submissions goes, rather not where it is shunned.

        None while all have enough to do.
        """
        # Towards the end nothing waits behind another one while a job elsewhere is free.
        ahead = _AHEAD if waiting > self.jobs else 1
        free = {
            address: occupancy.sent / occupancy.jobs
            for address, occupancy in self._open.items()
            if occupancy.sent < ahead * occupancy.jobs
        }
        elsewhere = [address for address in free if address not in shunned]
        return min(elsewhere or free, key=free.__getitem__, default=None)

    def sent(self, address: str) -> None:
        """One more submission went there."""
        self._open[address].sent += 1

    def came_back(self, address: str) -> None:
        """One submission less is there."""
        if address in self._open:
            self._open[address].sent -= 1
