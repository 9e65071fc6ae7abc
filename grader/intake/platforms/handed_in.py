"""The file or folder that was handed in, out of a platform's download or a folder around it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader.intake.archives.archive import FOREIGN, READABLE, archive_errors
from grader.intake.archives.member import member_parts, slashed
from grader.intake.archives.zip_archive import unpack_zip
from grader.intake.copying.admission import Admission
from grader.intake.copying.folder import SourceFile, survey
from grader.intake.copying.limits import DOWNLOAD_LIMITS, is_clutter, is_clutter_folder
from grader.intake.copying.private_copy import CopyFailed, PrivateCopy
from grader.intake.copying.regular_file import open_regular, read_chunks
from grader.intake.entry import Entry, Piece
from grader.intake.naming import several, shortened
from grader.removal import removed_afterwards
from grader.submission import Unreadable

_CODE = (".py", ".ipynb")
_ARCHIVES = (*READABLE, *FOREIGN)
_NESTED = 4  # folders that hold nothing but one folder


@contextlib.contextmanager
def handed_in(entry: Entry, beside: Path | None = None) -> Iterator[tuple[Entry, tuple[str, ...]]]:
    """The entry as one file or folder that lies somewhere, and what was left out of it.

    Pieces of a download are laid together, while this lasts, in a new folder below `beside` (by
    default where temporary files go). An archive that lies in a folder without any code is what
    was handed in. Raises Unreadable when a piece cannot be had, CopyFailed when it cannot be
    written.
    """
    with contextlib.ExitStack() as stack:
        notes: tuple[str, ...] = ()
        if entry.pieces:
            try:
                temporary = Path(tempfile.mkdtemp(dir=beside))
            except OSError as error:
                raise CopyFailed(f"cannot make a temporary folder: {error.strerror}") from error
            stack.enter_context(removed_afterwards(temporary))
            path, notes = _laid_together(entry, temporary / "handed-in")
            entry = dataclasses.replace(entry, path=path, pieces=())
        archive, others = _archive_alone(entry.path) if _is_folder(entry.path) else (None, [])
        if archive is not None:
            entry = dataclasses.replace(entry, path=archive)
            if others:
                notes = (*notes, f"Left out (beside {shortened(archive.name)}): {several(others)}.")
        yield entry, notes


def _laid_together(entry: Entry, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """Lay the pieces into a new folder: that, or the one file in it that stands for itself."""
    copy = PrivateCopy(folder)
    if entry.path.is_dir():
        admission = Admission(DOWNLOAD_LIMITS)
        for piece in entry.pieces:
            for file in _files(entry.path / piece.place, member_parts(piece.name)):
                _lay(file, copy, admission)
    else:
        admission = _unzip(entry.path, entry.pieces, copy)
    laid = list(folder.iterdir())
    if len(laid) == 1 and laid[0].is_file() and laid[0].name.lower().endswith((*_CODE, *_ARCHIVES)):
        return laid[0], admission.notes()
    return folder, admission.notes()


def _files(source: Path, within: tuple[str, ...]) -> list[SourceFile]:
    """The file that a piece is, or those in the folder that it is, and where each goes."""
    try:
        if not source.is_dir():
            return [SourceFile(within, str(source), os.lstat(source).st_size)]
        files, _ = survey(source, DOWNLOAD_LIMITS)
    except OSError as error:
        raise Unreadable(f"{shortened(source.name)} cannot be read: {error.strerror}") from error
    return [SourceFile((*within, *file.parts), file.path, file.size) for file in files]


def _lay(file: SourceFile, copy: PrivateCopy, admission: Admission) -> None:
    path = "/".join(file.parts)
    try:
        if admission.admits(file.parts, file.size) and not copy.write(
            file.parts, read_chunks(file.path, file.size)
        ):
            admission.leave_out("names that this machine cannot hold", path)
    except OSError as error:
        raise Unreadable(f"{shortened(path)} cannot be read: {error.strerror}") from error


def _unzip(download: Path, pieces: tuple[Piece, ...], copy: PrivateCopy) -> Admission:
    files = {piece.place: piece.name for piece in pieces}

    def place(member: str) -> str | None:
        path = slashed(member)
        if path in files:
            return files[path]
        for folder, name in files.items():
            if path.startswith(f"{folder}/"):
                return f"{name}/{path[len(folder) + 1 :]}".removeprefix("/")
        return None

    try:
        descriptor = open_regular(download)
    except OSError as error:
        raise Unreadable(f"the download cannot be opened: {error.strerror}") from error
    with os.fdopen(descriptor, "rb") as file, archive_errors():
        return unpack_zip(file, copy, DOWNLOAD_LIMITS, place)


def _archive_alone(folder: Path) -> tuple[Path | None, list[str]]:
    """The one archive in a folder that holds no code beside it, and what else lies there."""
    for _ in range(_NESTED):
        files = _listed(folder)
        archives = [name for name in files if files[name] and name.lower().endswith(_ARCHIVES)]
        if len(archives) == 1:
            others = [name for name in files if name not in archives]
            folders = [name for name in others if not files[name]]
            code = [name for name in others if name.lower().endswith(_CODE)]
            return (None, []) if folders or code else (folder / archives[0], others)
        if len(files) != 1 or any(files.values()):
            return None, []
        folder = folder / next(iter(files))
    return None, []


def _listed(folder: Path) -> Mapping[str, bool]:
    """What lies in a folder but clutter: the names, and whether each is a file."""
    try:
        with os.scandir(folder) as scan:
            entries = {
                entry.name: entry.is_file(follow_symlinks=False)
                for entry in scan
                if not (is_clutter_folder(entry.name) or is_clutter((entry.name,)))
                and not entry.is_symlink()
            }
    except OSError:
        return {}
    return dict(sorted(entries.items()))


def _is_folder(path: Path) -> bool:
    """Whether it is a folder, and no link to one."""
    return path.is_dir() and not path.is_symlink()
