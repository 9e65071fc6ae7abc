"""Submissions that are archives: recognising the kind, and what zip and tar have in common."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import BinaryIO

from grader.core.submission import Unreadable
from grader.intake.archives.formats import unpack_tar, unpack_zip
from grader.intake.copying.folder import Admission
from grader.intake.copying.limits import CopyLimits
from grader.intake.copying.names import shortened, size_in_words
from grader.intake.copying.private_copy import CopyFailed, PrivateCopy

READABLE = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
# Recognised as what somebody handed in, so that it gets a row that says what to do.
FOREIGN = (".rar", ".7z", ".tar.zst", ".zst", ".gz", ".bz2", ".xz")
_FOREIGN_BEGINNINGS = {
    b"Rar!": "a RAR archive",
    b"7z\xbc\xaf": "a 7-Zip archive",
    b"\x28\xb5\x2f\xfd": "compressed with Zstandard",
}


def unpack(file: BinaryIO, copy: PrivateCopy, limits: CopyLimits) -> Admission:
    """Unpacks an archive into a private copy, whatever it claims to be or to hold.

    Raises Unreadable when it is no archive, damaged, encrypted, too large when unpacked, or when
    a member would leave the folder that it is unpacked into; CopyFailed when the copy could not
    be written.
    """
    if os.fstat(file.fileno()).st_size > limits.archive:
        raise Unreadable(f"the archive is larger than {size_in_words(limits.archive)}")
    beginning = file.read(4)
    file.seek(0)
    for signature, kind in _FOREIGN_BEGINNINGS.items():
        if beginning == signature:
            raise Unreadable(f"the archive is {kind}; hand in a folder, a zip or a tar")
    if not beginning:
        raise Unreadable("the archive is an empty file")
    with archive_errors():
        if beginning[:2] == b"PK":
            return unpack_zip(file, copy, limits)
        return unpack_tar(file, copy, limits)


@contextlib.contextmanager
def archive_errors() -> Iterator[None]:
    """Raises every error of the standard library on a damaged archive as Unreadable."""
    try:
        yield
    except (Unreadable, CopyFailed, MemoryError):
        raise
    except Exception as error:  # its parsers raise of every kind
        reason = shortened(str(error)) or type(error).__name__
        raise Unreadable(f"the archive is damaged or no zip or tar: {reason}") from error
