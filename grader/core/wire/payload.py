"""The bytes of a frame that follow its header, taken one after another."""

from __future__ import annotations

MAX_PAYLOAD = 256 << 20
# A file that a submission wrote, which may have 64 MB, and what is said of it.
MAX_ANSWER = 65 << 20


class BadFrame(Exception):
    """Bytes on the channel that are no frame, or a frame that is not what it must be."""


class Payload:
    """The bytes of a frame's values, which are taken one after another."""

    def __init__(self, body: bytearray, start: int) -> None:
        self._body = memoryview(body)
        self._place = start

    @property
    def left(self) -> int:
        """How many bytes nobody has taken."""
        return len(self._body) - self._place

    def take(self, size: int) -> bytearray:
        """The next bytes, as a copy: no two values share any.

        Raises:
            BadFrame: if there are not so many.
        """
        start = self._place
        if size > len(self._body) - start:
            raise BadFrame("a frame has fewer bytes than its values say")
        self._place = start + size
        # A slice of a bytearray for which there is no memory is no clean MemoryError in Python.
        return bytearray(self._body[start : self._place])
