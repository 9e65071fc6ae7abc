"""Bytes to a worker and bytes from it, with a look at it on every way out of a wait."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import socket
import sys
import time
from collections.abc import Callable

from grader.core.wire.frames import ANY_FRAME, FrameBounds, Received, receive

_WATCH_MILLISECONDS = 20
_PRINTED = 4096
_PIPE = 1 << 20


class Exchange:
    """The judge's ends of a worker's channel and of the pipe that it prints to.

    `printed` is the end of what came through the pipe since the last question. What is more is
    thrown away as fast as it comes, so that no worker need wait to print.
    """

    def __init__(self, channel: socket.socket, output: int) -> None:
        self._channel = channel
        self._output = output
        channel.setblocking(False)
        os.set_blocking(output, False)
        if sys.platform == "linux":
            with contextlib.suppress(OSError):  # a user may hold so many pages in pipes
                fcntl.fcntl(output, fcntl.F_SETPIPE_SZ, _PIPE)
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)
        self._poll.register(output, select.POLLIN)
        self.printed = b""

    def ask(
        self, frame: bytes, look: Callable[[], None], bounds: FrameBounds = ANY_FRAME
    ) -> Received:
        """Sends a frame and receives one; `look` is called often, and may raise to end it.

        Raises:
            EOFError, ConnectionError: if the worker hung up.
            BadFrame: if what came is none.
        """
        self.printed = b""
        try:
            self._send(memoryview(frame), look)
            # What was printed before an answer is there when the answer is.
            self._wait(select.POLLIN, look)
            return receive(lambda size: self._receive(size, look), bounds)
        except BaseException:
            self._drain()
            raise

    def rest(self, at_most: int, seconds: float) -> bytes:
        """Returns at most `at_most` bytes that the worker sends within `seconds`, before hanging
        up.
        """
        data, end = b"", time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        with contextlib.suppress(OSError):
            while len(data) < at_most and (left := end - time.monotonic()) > 0:
                if poll.poll(1000 * left):
                    more = self._channel.recv(at_most - len(data))
                    if not more:
                        break
                    data += more
        return data

    def close(self) -> None:
        """Hangs up."""
        self._channel.close()
        self._close_output()

    def _send(self, data: memoryview, look: Callable[[], None]) -> None:
        while data:
            look()
            try:
                data = data[self._channel.send(data) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, look)

    def _receive(self, size: int, look: Callable[[], None]) -> bytearray:
        data = bytearray(size)
        view = memoryview(data)
        while view:
            look()
            try:
                count = self._channel.recv_into(view)
            except BlockingIOError:
                self._wait(select.POLLIN, look)
                continue
            if count == 0:
                raise EOFError
            view = view[count:]
        return data

    def _wait(self, event: int, look: Callable[[], None]) -> None:
        """Waits until the channel is ready, having read what was printed by then."""
        self._poll.modify(self._channel, event)
        while True:
            ready = dict(self._poll.poll(_WATCH_MILLISECONDS))
            if self._output in ready:
                self._drain()
            look()
            if self._channel.fileno() in ready:
                return

    def _drain(self) -> None:
        """Keeps the end of what the worker prints."""
        if self._output < 0:
            return
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._output, _PIPE)
            self.printed = (self.printed + data[-_PRINTED:])[-_PRINTED:]
            if not data:  # the worker closed its end: it will never be readable again
                self._close_output()

    def _close_output(self) -> None:
        if self._output >= 0:
            self._poll.unregister(self._output)
            os.close(self._output)
            self._output = -1
