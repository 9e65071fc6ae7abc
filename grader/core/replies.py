"""Replies to calls: opened answers, and sealed ones whose exact bytes were opened before."""

from __future__ import annotations

from dataclasses import dataclass

from grader.core.wire.calls import Answer, decode_answer
from grader.core.wire.frames import Received

_MOST = 1 << 16


@dataclass(frozen=True, slots=True)
class Sealed:
    """An answer of which nothing need be noted: opening it is left to who wants to read it.

    Equal digests are equal answers.
    """

    frame: Received
    digest: bytes

    @property
    def size(self) -> int:
        """Returns about how many bytes it holds."""
        return self.frame.size


Reply = Answer | Sealed


def opened(reply: Reply) -> Answer:
    """Returns the answer, for reading."""
    return decode_answer(reply.frame) if isinstance(reply, Sealed) else reply


class Unremarkable:
    """The digests of answers that were opened, and neither raised nor used what is forbidden."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def __contains__(self, digest: object) -> bool:
        return digest in self._digests

    def add(self, digest: bytes) -> None:
        """Remembers one; what is remembered stays bounded."""
        if len(self._digests) == _MOST:
            self._digests.clear()
        self._digests.add(digest)
