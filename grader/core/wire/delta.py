"""Calls that follow each other cross as what is new: a script grows by a step or two at a time.

Both ends keep the last call. What a frame says therefore depends on those before it on the same
channel, and on nothing else: a new worker is told a script from its beginning.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace

from grader.core.wire.calls import Call, call_in, encode_call
from grader.core.wire.frames import Received, decode
from grader.core.wire.scripts import Step
from grader.core.wire.values import Value


class Sending:
    """The frames of calls that go one way, each the rest of the last one's script if it is that."""

    def __init__(self) -> None:
        self._last: Call | None = None

    def frame(self, call: Call) -> bytes:
        """Returns the frame of the next call."""
        last, self._last = self._last, None
        known = 0 if last is None else _known(last, call)
        if known:
            rest = replace(call, arguments={}, before=(), then=call.then[known:])
            frame = encode_call(rest, known)
        else:
            frame = encode_call(call)
        self._last = call
        return frame


class Receiving:
    """The calls in frames that `Sending` made, in their order."""

    def __init__(self) -> None:
        self._last = Call("", {})

    def call(self, frame: Received) -> Call:
        """Returns the next call."""
        return self.call_in(*decode(frame, trusted=True))

    def call_in(self, header: dict[str, object], values: dict[str, Value]) -> Call:
        """Returns the next call, in what its frame holds."""
        known = header.pop("known", 0)
        assert isinstance(known, int)
        call, last = call_in(header, values), self._last
        if known:
            then = (*last.then[:known], *call.then)
            call = replace(call, arguments=last.arguments, before=last.before, then=then)
        self._last = call
        return call


def _known(last: Call, call: Call) -> int:
    """Returns how many steps after a call the last one had as well.

    Returns 0 if it was not the same call.
    """
    is_same = last.adapter == call.adapter and last.arguments is call.arguments
    known = len(last.then)
    if not is_same or known > len(call.then) or not _are_the_same(last.before, call.before):
        return 0
    return known if _are_the_same(last.then, call.then[:known]) else 0


def _are_the_same(some: Sequence[Step], others: Sequence[Step]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))
