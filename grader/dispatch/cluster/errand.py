"""What travels with a submission to another machine, and what comes back: bytes, never pickles."""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader.dispatch.task import Task
from grader.intake.parcel import Parcel
from grader.verdict import Grade

_LARGEST_REPLY = 64 << 20


class BadReply(Exception):
    """What came back is not what a station sends."""


@dataclass(frozen=True, slots=True)
class Errand:
    """A submission to be graded elsewhere: its name and hash, the exercises, and its parcel."""

    name: str
    submission_hash: str
    exercises: tuple[str, ...] | None
    parcel: Parcel

    @classmethod
    def of(cls, task: Task, parcel: Parcel) -> Errand:
        """The errand for a task."""
        return cls(task.entry.name, task.submission_hash, task.exercises, parcel)

    def packed(self) -> tuple[bytes, bytes]:
        """The errand as JSON, and the bytes of its parcel."""
        row = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        parcel = dataclasses.replace(self.parcel, content=b"")
        row["parcel"] = dataclasses.asdict(parcel) | {"content": None}
        return json.dumps(row).encode(), self.parcel.content

    @classmethod
    def unpacked(cls, row: bytes, content: bytes) -> Errand:
        """The errand that `packed` wrote."""
        fields = json.loads(row)
        exercises = None if fields["exercises"] is None else tuple(fields["exercises"])
        left_out = tuple(fields["parcel"]["left_out"])
        parcel = Parcel(**fields["parcel"] | {"content": content, "left_out": left_out})
        return cls(fields["name"], fields["submission_hash"], exercises, parcel)


def packed_reply(reply: Mapping[str, Any]) -> bytes:
    """A reply as compressed JSON."""
    return zlib.compress(json.dumps(reply).encode(), 1)


def grade_in(reply: Mapping[str, Any], submission: str) -> Grade | None:
    """The grade of that submission in a reply; None in one that says why there is none.

    Raises:
        BadReply: if it is neither.
    """
    if "stopped" in reply or "failed" in reply:
        return None
    try:
        grade = Grade.from_json(reply["grade"])
    except (LookupError, TypeError, ValueError, AttributeError, zlib.error) as error:
        raise BadReply(f"its answer holds no grade ({type(error).__name__}: {error})") from error
    if grade.submission != submission:
        raise BadReply(f"it answered with the grade of {grade.submission!r}")
    return grade


def unpacked_reply(data: object) -> dict[str, Any]:
    """The reply that `packed_reply` wrote, bounded before memory is taken.

    Raises:
        BadReply: if it is no such reply.
    """
    if not isinstance(data, bytes):
        raise BadReply(f"it answered with a {type(data).__name__}, not with bytes")
    decompressor = zlib.decompressobj()
    try:
        text = decompressor.decompress(data, _LARGEST_REPLY)
        reply = json.loads(text) if decompressor.eof else None
    except (zlib.error, ValueError) as error:
        raise BadReply(f"its answer cannot be read: {error}") from error
    if not isinstance(reply, dict):
        raise BadReply("its answer is too large or cut off")
    return reply
