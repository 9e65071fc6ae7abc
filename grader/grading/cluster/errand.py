"""What travels with a submission to another machine, and what comes back: bytes, never pickles."""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader.core.verdict import Carried, Grade, Verdict
from grader.core.words import Words
from grader.grading.task import Explained, ExplanationTask, GradedTask, Task
from grader.intake.entry import Entry
from grader.intake.parcel import SubmissionPackage

_LARGEST_REPLY = 64 << 20


class BadReply(Exception):
    """What came back is not what a station sends."""


@dataclass(frozen=True, slots=True)
class RemoteRequest:
    """A submission to be graded or explained elsewhere, and its parcel.

    `wish` is what is wanted of it, as plain data: with a `grade` in it, the words for that.
    """

    name: str
    wish: Mapping[str, Any]
    parcel: SubmissionPackage

    @classmethod
    def of(cls, wish: Task | ExplanationTask, parcel: SubmissionPackage) -> RemoteRequest:
        """The errand for a wish."""
        if isinstance(wish, ExplanationTask):
            return cls(wish.entry.name, {"grade": wish.grade().as_json(whole=True)}, parcel)
        kept = [verdict.as_whole_json() for verdict in wish.kept]
        carried = [dataclasses.asdict(one) for one in wish.carried]
        wanted = {
            "submission_hash": wish.submission_hash,
            "kept": kept,
            "carried": carried,
            "late_import": wish.late_import,
        }
        return cls(wish.entry.name, wanted, parcel)

    def wish_for(self, entry: Entry) -> Task | ExplanationTask:
        """What is wanted, of the submission where it was unpacked."""
        if "grade" in self.wish:
            grade = Grade.from_json(self.wish["grade"])
            return ExplanationTask(entry, lambda: grade)
        kept = tuple(Verdict.from_json(verdict) for verdict in self.wish["kept"])
        carried = tuple(Carried(**one) for one in self.wish["carried"])
        late = self.wish["late_import"]
        return Task(entry, 0, self.wish["submission_hash"], "", kept, carried, late_import=late)

    def packed(self) -> tuple[bytes, bytes]:
        """The errand as JSON, and the bytes of its parcel."""
        parcel = dataclasses.asdict(dataclasses.replace(self.parcel, content=b""))
        row = {"name": self.name, "wish": self.wish, "parcel": parcel | {"content": None}}
        return json.dumps(row).encode(), self.parcel.content

    @classmethod
    def unpacked(cls, row: bytes, content: bytes) -> RemoteRequest:
        """The errand that `packed` wrote."""
        fields = json.loads(row)
        left_out = tuple(fields["parcel"]["left_out"])
        parcel = SubmissionPackage(**fields["parcel"] | {"content": content, "left_out": left_out})
        return cls(fields["name"], fields["wish"], parcel)


def packed_reply(reply: Mapping[str, Any]) -> bytes:
    """A reply as compressed JSON."""
    return zlib.compress(json.dumps(reply).encode(), 1)


def result_in(
    reply: Mapping[str, Any], wish: Task | ExplanationTask
) -> GradedTask | Explained | None:
    """What a reply holds of a wish; None in one that says why there is nothing.

    Raises:
        BadReply: if it is neither.
    """
    if "stopped" in reply or "failed" in reply:
        return None
    try:
        if isinstance(wish, ExplanationTask):
            return Explained(wish, Words.from_json(reply["words"]))
        grade = Grade.from_json(reply["grade"])
    except (LookupError, TypeError, ValueError, AttributeError, zlib.error) as error:
        raise BadReply(f"its answer holds no grade ({type(error).__name__}: {error})") from error
    if grade.submission != wish.entry.name:
        raise BadReply(f"it answered with the grade of {grade.submission!r}")
    return GradedTask(wish, grade)


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
