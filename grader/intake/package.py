"""A submission as bytes, to be graded on a machine that does not share this one's disk."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.core.submission import Unreadable
from grader.intake.archives import archive_errors, unpack_tar
from grader.intake.copying import PrivateCopy, copy_folder
from grader.intake.entry import Entry
from grader.intake.handed_in import HandedIn, handed_in
from grader.intake.limits import DEFAULT_LIMITS, CopyLimits, size_in_words
from grader.intake.open_folder import OpenFolder, chunks


class Bundle:
    """A tar in memory, of only the path and the bytes of each file."""

    def __init__(self) -> None:
        self._buffer = io.BytesIO()
        # Source code shrinks to a third at the lowest level, and the higher ones cost far more.
        self._tar = tarfile.open(  # noqa: SIM115  # closed by `closed`
            fileobj=self._buffer,
            mode="w:gz",
            compresslevel=1,
            format=tarfile.GNU_FORMAT,
            encoding="utf-8",
            errors="surrogateescape",
        )

    def closed(self) -> bytes:
        """Ends the tar, and returns its bytes."""
        self._tar.close()
        return self._buffer.getvalue()

    def write(self, parts: Sequence[str], chunks: Iterable[bytes]) -> bool:
        """Adds a file; `parts` are its folders and its name, which may be any."""
        content = b"".join(chunks)
        member = tarfile.TarInfo("/".join(parts))
        member.size = len(content)
        self._tar.addfile(member, io.BytesIO(content))
        return True

    def remove(self, parts: Sequence[str]) -> None:
        """Does nothing: a file whose chunks raised was never added."""


_NAMELESS = "submission"


@dataclass(frozen=True, slots=True)
class SubmissionPackage:
    """The part of a submission that would be copied: the bytes of a file, or of a folder's tar.

    `name` is the name of the file or folder. `left_out` are sentences on files that do not travel;
    `refused` says why nothing travels.
    """

    name: str
    is_folder: bool = False
    content: bytes = b""
    left_out: tuple[str, ...] = ()
    refused: str = ""


def pack(entry: Entry, limits: CopyLimits = DEFAULT_LIMITS) -> SubmissionPackage:
    """Returns the submission as a package, within the limits on submissions.

    Raises:
        CopyFailed: if the pieces of a download could not be copied.
    """
    try:
        with handed_in(entry) as handed:
            return _packed(handed, limits)
    except Unreadable as problem:
        return SubmissionPackage(_NAMELESS, refused=str(problem))


def unpack(package: SubmissionPackage, name: str, into: Path) -> Entry:
    """Unpacks a package into the empty folder `into`, and returns it as the submission `name`.

    Raises:
        CopyFailed: if it could not be written.
    """
    place, refused = into / package.name, package.refused
    if package.is_folder:
        copy = PrivateCopy(place)
        try:
            with archive_errors():
                unpack_tar(io.BytesIO(package.content), copy, DEFAULT_LIMITS)
        except Unreadable as problem:
            refused = str(problem)
    elif not refused:
        place = into / "file" / package.name
        if not PrivateCopy(place.parent).write([package.name], [package.content]):
            refused = "its name cannot be used on this machine"
    return Entry(name, place, left_out=package.left_out, refused=refused)


def _packed(handed: HandedIn, limits: CopyLimits) -> SubmissionPackage:
    name = handed.name if handed.name not in ("", "..") else _NAMELESS
    if not isinstance(handed.source, OpenFolder):
        try:
            content = b"".join(chunks(handed.source, limits.archive + 1))
        except OSError as error:
            raise Unreadable(f"it cannot be read: {error.strerror}") from error
        if len(content) > limits.archive:
            raise Unreadable(f"the file is larger than {size_in_words(limits.archive)}")
        return SubmissionPackage(name, False, content, handed.left_out)
    bundle = Bundle()
    admission = copy_folder(handed.source, bundle, limits)
    return SubmissionPackage(name, True, bundle.closed(), (*handed.left_out, *admission.notes()))
