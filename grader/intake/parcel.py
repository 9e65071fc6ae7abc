"""A submission as bytes, to be graded on a machine that does not share this one's disk."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.intake.archives.archive import archive_errors
from grader.intake.archives.bundle import Bundle
from grader.intake.archives.member import member_parts
from grader.intake.archives.tar_archive import unpack_tar
from grader.intake.copying.folder import copy_folder
from grader.intake.copying.limits import DEFAULT_LIMITS, Limits
from grader.intake.copying.private_copy import PrivateCopy
from grader.intake.copying.regular_file import kind_in_words, read_bounded
from grader.intake.entry import Entry
from grader.intake.naming import size_in_words
from grader.intake.platforms.handed_in import handed_in
from grader.submission import Unreadable

_NAMELESS = "submission"


@dataclass(frozen=True, slots=True)
class Parcel:
    """What of a submission would be copied: the bytes of a file, or of a tar of a folder.

    `name` is what the file or folder is called. `left_out` are sentences on what does not travel;
    `refused` says why nothing of it does.
    """

    name: str
    is_folder: bool = False
    content: bytes = b""
    left_out: tuple[str, ...] = ()
    refused: str = ""


def pack(entry: Entry, limits: Limits = DEFAULT_LIMITS) -> Parcel:
    """The submission as a parcel, no larger than what may be handed in.

    Raises CopyFailed when the pieces of a download could not be laid together.
    """
    try:
        with handed_in(entry) as (found, left_out):
            return _packed(found, left_out, limits)
    except Unreadable as problem:
        return Parcel(_NAMELESS, refused=str(problem))


def unpack(parcel: Parcel, name: str, into: Path) -> Entry:
    """The submission called `name` as it was packed, laid into the empty folder `into`.

    Raises CopyFailed when it could not be written.
    """
    place, refused = into / parcel.name, parcel.refused
    if parcel.is_folder:
        try:
            with archive_errors():
                unpack_tar(io.BytesIO(parcel.content), PrivateCopy(place), DEFAULT_LIMITS)
        except Unreadable as problem:
            refused = str(problem)
    elif not refused:
        place = into / "file" / parcel.name
        PrivateCopy(place.parent).write([parcel.name], [parcel.content])
    return Entry(name, place, left_out=parcel.left_out, refused=refused)


def _packed(entry: Entry, left_out: tuple[str, ...], limits: Limits) -> Parcel:
    try:
        mode = os.lstat(entry.path).st_mode
        name = entry.path.name if entry.path.name not in ("", "..") else _NAMELESS
        if stat.S_ISREG(mode):
            content = read_bounded(entry.path, limits.archive + 1)
            if len(content) > limits.archive:
                raise Unreadable(f"the file is larger than {size_in_words(limits.archive)}")
            return Parcel(name, False, content, left_out)
    except OSError as error:
        raise Unreadable(f"it cannot be opened: {error.strerror}") from error
    if not stat.S_ISDIR(mode):
        raise Unreadable(f"it is {kind_in_words(mode)}, which is not opened; hand in what it holds")
    with Bundle() as bundle:
        admission = copy_folder(entry.path, _Portable(bundle), limits)
    return Parcel(name, True, bundle.content, (*left_out, *admission.notes()))


class _Portable:
    """A bundle that takes only the names which mean the same wherever it is unpacked."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def write(self, parts: Sequence[str], chunks: Iterable[bytes]) -> bool:
        try:
            if member_parts("/".join(parts)) != tuple(parts):
                return False
        except Unreadable:
            return False
        self._bundle.add(parts, b"".join(chunks))
        return True

    def remove(self, parts: Sequence[str]) -> None:
        """A file whose chunks raised was never added."""
