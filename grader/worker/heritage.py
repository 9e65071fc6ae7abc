"""What a worker has from the fork server that it was forked from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Heritage:
    """The user id to take on, if any, the namespaces entered, the engine's modules by name.

    `granted` are the system calls that the assignment allows beside those of every worker.
    """

    user: int | None
    namespaces: str
    engine: tuple[str, ...]
    granted: tuple[str, ...] = ()
