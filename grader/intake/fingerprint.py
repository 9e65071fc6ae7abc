"""A submission's hash: it changes exactly when what would be graded changes."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from grader.intake.copying.folder import survey
from grader.intake.copying.limits import DEFAULT_LIMITS, Limits
from grader.intake.copying.regular_file import read_chunks
from grader.intake.entry import Entry
from grader.intake.platforms.handed_in import handed_in
from grader.submission import Unreadable


def fingerprint(entry: Entry, limits: Limits = DEFAULT_LIMITS) -> str:
    """SHA-256, in hexadecimal, of the paths and contents that would be copied.

    Of an archive or a single file, of its bytes up to the limit. Raises nothing: what cannot be
    read has a hash too.
    """
    try:
        with handed_in(entry) as (found, _):
            return _of_what_lies_there(found, limits)
    except Exception as problem:  # what strangers wrote: taking it in says what is wrong with it
        return _digest(b"cannot be had", str(problem).encode("utf-8", "backslashreplace"))


def _of_what_lies_there(entry: Entry, limits: Limits) -> str:
    try:
        mode = os.lstat(entry.path).st_mode
    except OSError:
        return _digest(b"cannot be opened")
    if stat.S_ISDIR(mode):
        return _of_folder(entry.path, limits)
    if stat.S_ISREG(mode):
        content = _of_content(entry.path, limits.archive)
        return _digest(b"file", os.fsencode(entry.path.suffix.lower()), content)
    return _digest(b"special file", str(stat.S_IFMT(mode)).encode())


def _of_folder(folder: Path, limits: Limits) -> str:
    try:
        files, _ = survey(folder, limits)
    except Unreadable:
        return _digest(b"cannot be read")
    pieces = [b"folder"]
    for file in sorted(files, key=lambda file: file.parts):
        pieces.append(os.fsencode("/".join(file.parts)))
        pieces.append(_of_content(file.path, file.size))
    return _digest(*pieces)


def _of_content(path: Path | str, at_most: int) -> bytes:
    digest = hashlib.sha256()
    try:
        for chunk in read_chunks(path, at_most):
            digest.update(chunk)
    except OSError:
        return b"cannot be read"
    return digest.digest()


def _digest(*pieces: bytes) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(len(piece).to_bytes(8, "big"))
        digest.update(piece)
    return digest.hexdigest()
