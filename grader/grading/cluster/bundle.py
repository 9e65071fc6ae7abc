"""The data that travels to other machines and back: assignment, submissions and replies."""

from __future__ import annotations

import dataclasses
import io
import json
import platform
import tarfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import grader
from grader.core.assignment import Assignment, Settings, find_assignment
from grader.core.explanation import Words
from grader.core.verdict import Grade
from grader.grading.fingerprints import suite_files
from grader.grading.options import (
    AnyTask,
    Explained,
    ExplanationTask,
    GradedTask,
    Options,
    Result,
    Task,
)
from grader.intake.copying import PrivateCopy
from grader.intake.entry import Entry
from grader.intake.handed_in import Bundle, SubmissionPackage

_LARGEST_REPLY = 64 << 20


class BadReply(Exception):
    """A reply of a remote worker that cannot be used."""


@dataclass(frozen=True, slots=True)
class RemoteRequest:
    """A submission to grade, or a grade to explain, with its package; Dask pickles it."""

    asked: Task | Grade
    package: SubmissionPackage

    @classmethod
    def of(cls, task: AnyTask, package: SubmissionPackage) -> RemoteRequest:
        """Returns the request for a task."""
        asked = task.without_people if isinstance(task, Task) else task.grade()
        return cls(asked, package)

    @property
    def name(self) -> str:
        """Returns the submission's name."""
        return self.asked.entry.name if isinstance(self.asked, Task) else self.asked.submission

    def task_for(self, entry: Entry) -> AnyTask:
        """Returns the task, for the submission where it was unpacked."""
        asked = self.asked
        if isinstance(asked, Task):
            return dataclasses.replace(asked, entry=entry)
        return ExplanationTask(entry, lambda: asked)


def packed_reply(reply: Mapping[str, Any]) -> bytes:
    """Returns a reply as compressed JSON."""
    return zlib.compress(json.dumps(reply).encode(), 1)


def result_in(reply: Mapping[str, Any], task: AnyTask) -> Result | None:
    """Returns the grade or the words in a reply; None if the reply says why there are none.

    Raises:
        BadReply: if the reply holds neither.
    """
    if "stopped" in reply or "failed" in reply:
        return None
    try:
        if isinstance(task, ExplanationTask):
            return Explained(task, Words.from_json(reply["words"]))
        grade = Grade.from_json(reply["grade"])
    except (LookupError, TypeError, ValueError, AttributeError, zlib.error) as error:
        raise BadReply(f"its answer holds no grade ({type(error).__name__}: {error})") from error
    if grade.submission != task.entry.name:
        raise BadReply(f"it answered with the grade of {grade.submission!r}")
    return GradedTask(task, grade)


def unpacked_reply(data: object) -> dict[str, Any]:
    """Returns the reply that `packed_reply` wrote, bounded before memory is taken.

    Raises:
        BadReply: if the data is anything else.
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


_SUITE = "suite"


def packed_assignment(assignment: Assignment) -> bytes:
    """Returns the parts of an assignment that its grades depend on, as a compressed tar."""
    bundle = Bundle()
    for file in suite_files(assignment.root):
        bundle.write(file.relative_to(assignment.root).parts, [file.read_bytes()])
    return bundle.closed()


def unpacked_assignment(assignment_bundle: bytes, folder: Path, settings: Settings) -> Settings:
    """Unpacks an assignment into a new folder; returns the settings for its judges there.

    Raises:
        BadAssignment: if it cannot be used there.
        CopyFailed: if it cannot be written.
    """
    copy = PrivateCopy(folder)
    with tarfile.open(fileobj=io.BytesIO(assignment_bundle), mode="r:gz") as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                copy.write(member.name.split("/"), [content.read()])
    chosen = {one.name: getattr(settings, one.name) for one in dataclasses.fields(Options)}
    return Options(**chosen).settings(find_assignment(folder))


def versions(settings: Settings) -> dict[str, str]:
    """Returns this machine's versions of all that grades depend on, in a stable order."""
    return {
        "grader": grader.__version__,
        "torch": version("torch"),
        "Python": platform.python_version(),
        _SUITE: settings.suite_hash,
    }


def difference(there: Mapping[str, str], here: Mapping[str, str]) -> str:
    """Returns in words how another machine's versions differ from those here; "" if equal."""
    named = [
        f"{what} {there.get(what, 'unknown')} and not {here[what]}"
        for what in here
        if what != _SUITE and there.get(what) != here[what]
    ]
    if named:
        return f"it has {', '.join(named)}"
    if there.get(_SUITE) != here[_SUITE]:
        return f"the files of its grader {here['grader']} are not the same as here"
    return ""
