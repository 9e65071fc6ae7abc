"""Pipes between processes that are threads."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterable
from multiprocessing import BufferTooShort
from typing import Any

from grader.worker.multiprocessing.crossing import Waitable, crossed
from grader.worker.multiprocessing.turns import TURNS

_LOOK_SECONDS = 0.002
_END = object()


class _Way:
    """One direction of a pipe, and how many may still write into it."""

    def __init__(self) -> None:
        self.items: queue.Queue[Any] = queue.Queue()
        self.writers = 0

    def leave(self) -> None:
        """One writer less; after the last one, readers come to the end."""
        self.writers -= 1
        if not self.writers:
            self.items.put(_END)


class Connection(Waitable):
    """One end of a pipe, as `multiprocessing.connection.Connection`."""

    def __init__(self, inwards: _Way | None, outwards: _Way | None) -> None:
        self._inwards, self._outwards = inwards, outwards
        self.readable, self.writable = inwards is not None, outwards is not None
        self.closed = False
        if outwards is not None:
            outwards.writers += 1

    def crossed(self) -> Connection:
        """An end of its own for the other process, which closes it by itself."""
        return Connection(self._inwards, self._outwards)

    def send(self, obj: Any) -> None:
        """Sends a copy."""
        self._checked(self._outwards).items.put(crossed(obj))

    def recv(self) -> Any:
        """The next thing that was sent.

        Raises:
            EOFError: if nobody is left who could send any.
        """
        items = self._checked(self._inwards).items
        with TURNS.waiting():
            item = items.get()
        if item is _END:
            items.put(_END)
            raise EOFError
        return item

    def poll(self, timeout: float | None = 0.0) -> bool:
        """Whether there is something to receive."""
        return bool(wait([self], timeout))

    def send_bytes(self, buf: Any, offset: int = 0, size: int | None = None) -> None:
        """Sends bytes."""
        data = bytes(memoryview(buf))[offset:]
        self.send(data if size is None else data[:size])

    def recv_bytes(self, maxlength: int | None = None) -> bytes:
        """The next bytes that were sent."""
        data = self.recv()
        if maxlength is not None and len(data) > maxlength:
            raise OSError("bad message length")
        return bytes(data)

    def recv_bytes_into(self, buf: Any, offset: int = 0) -> int:
        """The size of the next bytes that were sent, which are now in a buffer."""
        data = self.recv()
        if len(data) > len(memoryview(buf)) - offset:
            raise BufferTooShort(data)
        memoryview(buf)[offset : offset + len(data)] = data
        return len(data)

    def close(self) -> None:
        """Neither reads nor writes any more."""
        if not self.closed and self._outwards is not None:
            self._outwards.leave()
        self.closed = True

    def is_ready(self) -> bool:
        """Whether somebody who waits for it may go on."""
        return not self._checked(self._inwards).items.empty()

    def _checked(self, way: _Way | None) -> _Way:
        if self.closed:
            raise OSError("handle is closed")
        if way is None:
            raise OSError(f"connection is {'read' if self.readable else 'write'}-only")
        return way

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def Pipe(duplex: bool = True) -> tuple[Connection, Connection]:  # noqa: N802 (as it is called there)
    """Both ends of a pipe, as `multiprocessing.Pipe`: the first one reads, if only one does."""
    there, back = _Way(), _Way()
    if duplex:
        return Connection(back, there), Connection(there, back)
    return Connection(there, None), Connection(None, there)


def wait(object_list: Iterable[Any], timeout: float | None = None) -> list[Any]:
    """Those ends and sentinels that are ready, as `multiprocessing.connection.wait`."""
    waited = list(object_list)
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        ready = [one for one in waited if one.is_ready()]
        if ready or (end is not None and time.monotonic() >= end):
            return ready
        with TURNS.waiting():
            time.sleep(_LOOK_SECONDS)
