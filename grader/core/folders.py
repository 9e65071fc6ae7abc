"""Removal of folders, whatever they hold, and a command's scratch folders."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOR_ITS_OWNER = 0o700


def remove(folder: Path) -> bool:
    """Removes a folder and all that is in it; False if something is left. Raises nothing.

    Moves the folders in each subfolder up before it removes the subfolder. Every path is then one
    name, and neither the stack nor the number of open files grows with the depth. Follows no link.
    """
    try:
        with opened(os.fspath(folder), to_change=True) as top:
            _empty(top)
    except FileNotFoundError:
        return True
    except (OSError, ValueError):  # no folder, or one that may not be opened
        return _done(os.unlink, folder) or _done(os.rmdir, folder)
    return _done(os.rmdir, folder)


@contextlib.contextmanager
def removed_afterwards(folder: Path) -> Iterator[Path]:
    """Provides a folder that is removed at the end, as far as possible."""
    try:
        yield folder
    finally:
        remove(folder)


def _empty(top: int) -> None:
    """Removes what is in an open folder, until nothing is left or nothing more can be removed."""
    # No earlier writer can have guessed these names.
    names = (f"{secrets.token_hex(8)}-{number}" for number in itertools.count())
    # The next listing finds what was moved up during this one.
    while sum(_cleared(top, entry, names) for entry in _listed(top)):
        pass


def _cleared(top: int, entry: os.DirEntry[str], names: Iterator[str]) -> bool:
    """Removes an entry of `top`, or moves its folders up into `top`; False if nothing changed."""
    if not _is_folder(entry):
        return _done(os.unlink, entry.name, dir_fd=top)
    some = False
    with contextlib.suppress(OSError), opened(entry.name, top, to_change=True) as folder:
        for inner in _listed(folder):
            if _is_folder(inner):
                some |= _moved(inner.name, folder, next(names), top)
            else:
                some |= _done(os.unlink, inner.name, dir_fd=folder)
    return _done(os.rmdir, entry.name, dir_fd=top) or some


def _moved(name: str, folder: int, new_name: str, top: int) -> bool:
    """Moves a folder from `folder` into `top`, if need be after opening it up; False if not."""
    return _done(os.rename, name, new_name, src_dir_fd=folder, dst_dir_fd=top) or (
        _done(_open_up, name, folder)
        and _done(os.rename, name, new_name, src_dir_fd=folder, dst_dir_fd=top)
    )


def _listed(folder: int) -> Iterator[os.DirEntry[str]]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        yield from entries


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


@contextlib.contextmanager
def opened(name: str, within: int | None = None, to_change: bool = False) -> Iterator[int]:
    """Opens a folder, whatever its mode, so that its owner can list it, and change it if asked.

    Follows no link.

    Raises:
        OSError: if it is not a folder, or another user's.
    """
    try:
        descriptor = os.open(name, _FOLDER, dir_fd=within)
    except PermissionError:
        _open_up(name, within)
        descriptor = os.open(name, _FOLDER, dir_fd=within)
    try:
        if to_change:
            _done(os.fchmod, descriptor, _FOR_ITS_OWNER)
        yield descriptor
    finally:
        os.close(descriptor)


def _open_up(name: str, within: int | None) -> None:
    """Gives the owner access to a folder, but not to one that a link points at."""
    path_only = getattr(os, "O_PATH", None)
    if path_only is None:  # not Linux: chmod() can leave links alone there
        os.chmod(name, _FOR_ITS_OWNER, dir_fd=within, follow_symlinks=False)
        return
    descriptor = os.open(name, path_only | _FOLDER, dir_fd=within)
    try:
        Path(f"/proc/self/fd/{descriptor}").chmod(_FOR_ITS_OWNER)
    finally:
        os.close(descriptor)


def _done(action: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    """Does something in the file system; returns False if the system refuses."""
    try:
        action(*args, **kwargs)
    except (OSError, ValueError, NotImplementedError):
        return False
    return True


# Workers may run as another user: they can open paths below the folder, but cannot list it.
PASSABLE = 0o711


def make_scratch(temporary: Path | None = None) -> Path:
    """Makes a folder below `temporary`, by default where temporary files go.

    The folder lies in another one that only its owner can list, so nobody else can guess its path.

    Raises:
        OSError: if none can be made.
    """
    around = tempfile.mkdtemp(prefix="grader-scratch-", dir=temporary)
    path = Path(tempfile.mkdtemp(dir=around))
    for folder in (path, path.parent):
        folder.chmod(PASSABLE)
    return path


@contextlib.contextmanager
def new_scratch(temporary: Path | None = None) -> Iterator[Path]:
    """Provides a folder that `make_scratch` makes, and removes it at the end."""
    path = make_scratch(temporary)
    try:
        yield path
    finally:
        remove_scratch(path)


def remove_scratch(folder: Path) -> None:
    """Removes a folder that `make_scratch` made, as far as possible, and the one around it."""
    if remove(folder):
        _done(os.rmdir, folder.parent)
