"""A submission's hash: it changes exactly when what would be graded changes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator

from grader.intake.copying.folder import content, survey
from grader.intake.copying.limits import DEFAULT_LIMITS, CopyLimits
from grader.intake.copying.open_folder import OpenFolder, chunks
from grader.intake.entry import Entry
from grader.intake.handed_in import handed_in


def fingerprint(entry: Entry, limits: CopyLimits = DEFAULT_LIMITS) -> str:
    """Returns the SHA-256, in hexadecimal, of the paths and contents that would be copied.

    Of an archive or a single file, of its bytes up to the limit. Raises nothing: what cannot be
    read has a hash too.
    """
    try:
        with handed_in(entry) as handed:
            if isinstance(handed.source, OpenFolder):
                return _of_folder(handed.source, limits)
            whole = _of_content(chunks(handed.source, limits.archive))
            return _digest(b"file", os.fsencode(handed.suffix), whole)
    except Exception as problem:  # what strangers wrote: taking it in says what is wrong with it
        return _digest(b"cannot be had", str(problem).encode("utf-8", "backslashreplace"))


def _of_folder(folder: OpenFolder, limits: CopyLimits) -> str:
    pieces = [b"folder"]
    for file in sorted(survey(folder, limits)[0], key=lambda file: file.parts):
        pieces.append(os.fsencode("/".join(file.parts)))
        pieces.append(_of_content(content(folder, file)))
    return _digest(*pieces)


def _of_content(pieces: Iterator[bytes]) -> bytes:
    digest = hashlib.sha256()
    try:
        for piece in pieces:
            digest.update(piece)
    except OSError:
        return b"cannot be read"
    return digest.digest()


def _digest(*pieces: bytes) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(len(piece).to_bytes(8, "big"))
        digest.update(piece)
    return digest.hexdigest()
