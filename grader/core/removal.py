"""Removes folders in which strangers wrote: however deep, named or closed what they left is."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOR_ITS_OWNER = 0o700


def remove(folder: Path) -> bool:
    """Removes a folder and all that is in it; False if something is left. Raises nothing.

    What lies in a folder of the folder is moved up before that one is removed: so no path has
    more than a name, and neither the stack nor the number of open files grows with the depth. No
    link is followed.
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
    """Provides a folder that is removed in the end, as far as it can be."""
    try:
        yield folder
    finally:
        remove(folder)


def _empty(top: int) -> None:
    """Removes what is in an open folder, until nothing is left or nothing more can be removed."""
    # Nobody who wrote there knew these names.
    names = (f"{secrets.token_hex(8)}-{number}" for number in itertools.count())
    # What is moved up while the folder is listed may be seen only when it is listed again.
    while sum(_cleared(top, entry, names) for entry in _listed(top)):
        pass


def _cleared(top: int, entry: os.DirEntry[str], names: Iterator[str]) -> bool:
    """Returns whether an entry of `top` was removed, or anything in it was removed or moved up."""
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
    """Returns whether a folder in `folder` could be moved into `top`.

    It must be writable for that.
    """
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
    """Opens a folder so that its owner can list it, and change it if asked, whatever its mode.

    No link is followed. Raises OSError where that is no folder, or not the owner's to open.
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
    """Lets the owner into a folder; not into one that a link points at."""
    path_only = getattr(os, "O_PATH", None)
    if path_only is None:  # no Linux: there a mode is changed without following links
        os.chmod(name, _FOR_ITS_OWNER, dir_fd=within, follow_symlinks=False)
        return
    descriptor = os.open(name, path_only | _FOLDER, dir_fd=within)
    try:
        Path(f"/proc/self/fd/{descriptor}").chmod(_FOR_ITS_OWNER)
    finally:
        os.close(descriptor)


def _done(action: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    """Returns whether the system did what it was asked for."""
    try:
        action(*args, **kwargs)
    except (OSError, ValueError, NotImplementedError):
        return False
    return True
