"""The file or folder that was handed in, taken out of a download or a folder around it.

Its hash changes exactly when the content to be graded changes. As a package of bytes, it is graded
on a machine that does not share this one's disk.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import stat
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from grader.core.files import refusing
from grader.core.folders import removed_afterwards
from grader.core.names import several, shortened
from grader.core.submission import Unreadable
from grader.intake.archives import (
    ARCHIVES,
    archive_errors,
    member_parts,
    slashed,
    unpack_tar,
    unpack_zip,
)
from grader.intake.copying import (
    IMPOSSIBLE_NAME,
    Admission,
    CopyFailed,
    PrivateCopy,
    SourceFile,
    content,
    copy_folder,
    reading,
    survey,
)
from grader.intake.entry import Entry, Piece
from grader.intake.limits import (
    CODE,
    DEFAULT_LIMITS,
    DOWNLOAD_LIMITS,
    NOTEBOOKS,
    CopyLimits,
    is_clutter_item,
    name_as_written,
    size_in_words,
)
from grader.intake.open_folder import (
    FolderItem,
    OpenFolder,
    Parts,
    chunks,
    kind_in_words,
    open_file,
)

_NESTED = 4  # folders that hold nothing but one folder


@dataclass(frozen=True, slots=True)
class HandedIn:
    """An open submission with its name; `left_out` are sentences."""

    source: OpenFolder | BinaryIO
    name: str
    left_out: tuple[str, ...]


@contextlib.contextmanager
def handed_in(entry: Entry, beside: Path | None = None) -> Iterator[HandedIn]:
    """Opens an entry as one file or folder while the context lasts.

    Copies the pieces of a download into a temporary folder below `beside` (by default where
    temporary files go). An archive in a folder without code stands for the folder.

    Raises:
        Unreadable: if the entry cannot be opened.
        CopyFailed: if pieces cannot be written, or the machine fails to read.
    """
    path = entry.path
    notes: tuple[str, ...] = ()
    with contextlib.ExitStack() as stack:
        if entry.pieces:
            with refusing(CopyFailed, "cannot make a temporary folder"):
                temporary = Path(tempfile.mkdtemp(dir=beside))
            stack.enter_context(removed_afterwards(temporary))
            path, notes = _laid_together(entry, temporary / "handed-in")
        source = _opened(path)
        stack.push(source)
        name = path.name
        if isinstance(source, OpenFolder):
            archive, others = archive_alone(source)
            if archive:
                source, name = opened_archive(source, archive), archive[-1]
                stack.push(source)
            if others:
                notes = (*notes, f"Left out (beside {shortened(name)}): {several(others)}.")
        yield HandedIn(source, name, notes)


def _opened(path: Path) -> OpenFolder | BinaryIO:
    """Returns the open folder or regular file at a path; opens nothing else."""
    with reading("it cannot be opened"):
        try:
            return OpenFolder(path)
        except OSError as error:
            # Not a folder, or a link: only Linux tells one from the other.
            if error.errno not in (errno.ENOTDIR, errno.ELOOP, errno.EMLINK):
                raise
        mode = os.lstat(path).st_mode
        if stat.S_ISREG(mode):
            return open_file(path)
    raise Unreadable(f"it is {kind_in_words(mode)}, which is not opened; hand in what it holds")


def opened_archive(folder: OpenFolder, place: Parts) -> BinaryIO:
    with reading("the archive cannot be opened"):
        return folder.open_file(place)


def read_whole(file: BinaryIO, at_most: int) -> bytes:
    """Returns the bytes of a file that was handed in.

    Raises:
        Unreadable: if it cannot be read, or holds more than `at_most`.
    """
    with reading("the file cannot be read"):
        content = b"".join(chunks(file, at_most + 1))
    if len(content) > at_most:
        raise Unreadable(f"the file is larger than {size_in_words(at_most)}")
    return content


def _laid_together(entry: Entry, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """Copies the pieces into a new folder; returns it, or the one code file or archive in it."""
    copy = PrivateCopy(folder)
    with _opened(entry.path) as download:
        if isinstance(download, OpenFolder):
            admission = Admission(DOWNLOAD_LIMITS)
            for piece in entry.pieces:
                _lay_piece(download, piece, copy, admission)
        else:
            admission = _unzip(download, entry.pieces, copy)
    laid = list(folder.iterdir())
    if len(laid) == 1 and laid[0].is_file() and laid[0].name.lower().endswith((*CODE, *ARCHIVES)):
        return laid[0], admission.notes()
    return folder, admission.notes()


def _lay_piece(download: OpenFolder, piece: Piece, copy: PrivateCopy, admission: Admission) -> None:
    """Copies a piece, a file or all files of a folder, to its place in the copy."""
    place, within = tuple(piece.place.split("/")), member_parts(piece.name)
    said = f"{shortened(place[-1])} cannot be read"
    with reading(said), contextlib.ExitStack() as stack:
        item = download.item(place)
        folder, files = download, [SourceFile((), place, item.size)]
        if item.is_folder:
            folder = stack.enter_context(download.folder(place))
            files, _ = survey(folder, DOWNLOAD_LIMITS)
        for file in files:
            to = (*within, *file.parts)
            if admission.admits(to, file.size) and not copy.write(to, content(folder, file)):
                admission.leave_out(IMPOSSIBLE_NAME, "/".join(to))


def _unzip(download: BinaryIO, pieces: tuple[Piece, ...], copy: PrivateCopy) -> Admission:
    files = {piece.place: piece.name for piece in pieces}

    def place(member: str) -> str | None:
        path = slashed(member)
        if path in files:
            return files[path]
        for folder, name in files.items():
            if path.startswith(f"{folder}/"):
                return f"{name}/{path[len(folder) + 1 :]}".removeprefix("/")
        return None

    with archive_errors():
        return unpack_zip(download, copy, DOWNLOAD_LIMITS, place)


def archive_alone(folder: OpenFolder) -> tuple[Parts, list[str]]:
    """Returns the only archive in a folder without code, and the names of the other files.

    The archive may lie in the folder's only folder, beside which there is no code either. Returns
    an empty place if there is no such archive.
    """
    place: Parts = ()
    others: list[str] = []
    for _ in range(_NESTED):
        items = _listed(folder, place)
        files = [item.name for item in items if item.is_file]
        folders = [item.name for item in items if not item.is_file]
        archives = [name for name in files if name.lower().endswith(ARCHIVES)]
        others += [name for name in files if name not in archives]
        if any(name.lower().endswith(CODE) for name in others):
            break
        if len(archives) == 1 and not folders:
            return (*place, *archives), others
        if archives or len(folders) != 1:
            break
        place = (*place, *folders)
    return (), []


def _listed(folder: OpenFolder, place: Parts) -> list[FolderItem]:
    """Returns the items of a folder in order, without clutter and links."""
    try:
        items = folder.listed(place, DOWNLOAD_LIMITS.entries)
    except OSError:
        return []
    wanted = (item for item in items if not (item.is_link or is_clutter_item(item.name)))
    return sorted(wanted, key=lambda item: item.name)


def fingerprint(entry: Entry) -> str:
    """Returns the SHA-256, in hexadecimal, of the paths and contents that would be copied.

    For an archive or a single file, hashes its bytes up to the limit, and a notebook's name, which
    its copy keeps. Raises nothing: unreadable content has a hash too.
    """
    try:
        with handed_in(entry) as handed:
            if isinstance(handed.source, OpenFolder):
                return _of_folder(handed.source)
            whole = _of_content(chunks(handed.source, DEFAULT_LIMITS.archive))
            name = name_as_written(handed.name)
            kind = name if name.endswith(NOTEBOOKS[0]) else Path(handed.name).suffix.lower()
            return _digest(b"file", os.fsencode(kind), whole)
    except Exception as problem:  # the content may be hostile: intake says what is wrong with it
        return _digest(b"cannot be had", str(problem).encode("utf-8", "backslashreplace"))


def _of_folder(folder: OpenFolder) -> str:
    pieces = [b"folder"]
    for file in sorted(survey(folder, DEFAULT_LIMITS)[0], key=lambda file: file.parts):
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
        content = read_whole(handed.source, limits.archive)
        return SubmissionPackage(name, False, content, handed.left_out)
    bundle = Bundle()
    admission = copy_folder(handed.source, bundle, limits)
    return SubmissionPackage(name, True, bundle.closed(), (*handed.left_out, *admission.notes()))
