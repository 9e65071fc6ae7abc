"""Listens on loopback for every kind of connection that a submission may try."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from pathlib import Path
from types import TracebackType


class Listener:
    """TCP, UDP and Unix sockets (one with a path, one abstract) that record each contact."""

    def __init__(self, path: Path, abstract: str) -> None:
        self.heard: list[str] = []
        self._sockets = {
            "tcp": _bound(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            "udp": _bound(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            "unix": _bound(socket.AF_UNIX, socket.SOCK_STREAM, str(path)),
            "abstract": _bound(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract),
        }
        path.chmod(0o777)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._listen)

    def port(self, kind: str) -> int:
        """Returns the port of `tcp` or `udp`."""
        port: int = self._sockets[kind].getsockname()[1]
        return port

    def __enter__(self) -> Listener:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join()
        for line in self._sockets.values():
            line.close()

    def _listen(self) -> None:
        with selectors.DefaultSelector() as selector:
            for name, line in self._sockets.items():
                selector.register(line, selectors.EVENT_READ, name)
            while not self._stopping.is_set():
                for key, _ in selector.select(0.2):
                    self.heard.append(key.data)
                    with contextlib.suppress(OSError):
                        if key.data == "udp":
                            self._sockets["udp"].recv(100)
                        else:
                            self._sockets[key.data].accept()[0].close()


def _bound(family: int, kind: int, address: tuple[str, int] | str) -> socket.socket:
    line = socket.socket(family, kind)
    line.bind(address)
    if kind == socket.SOCK_STREAM:
        line.listen(16)
    line.setblocking(False)
    return line
