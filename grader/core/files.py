"""Removal of folders, files that are written whole, and scratch folders of a command.

All scratch folders lie in one folder of the grader's own. Each holds a file that names the folder
and that the command keeps locked (flock(2)). The kernel releases the lock when the last process
that holds it has ended, and every container sees that.

The scratch folder of a killed command is removed if that file is there, names the folder, belongs
to this user and is not locked. A folder's name proves nothing: everything else stays.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOR_ITS_OWNER = 0o700
_DEVICES = Path("/dev")  # where a new file would take the place of a device or of a link to one


def remove(folder: Path) -> bool:
    """Removes a folder and all that is in it; False if something is left. Raises nothing.

    Moves the content of each subfolder up before it removes that. Every path is then one name,
    and neither the stack nor the number of open files grows with the depth. Follows no link.
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


@contextlib.contextmanager
def replaced(file: Path) -> Iterator[Path]:
    """Provides a new file to write, which takes the place of another one at the end.

    After an exception nothing of the new file stays. It is always made, because an earlier owner of
    the folder may have laid a link in its place. It has the ordinary permissions of the other one.
    A device or a pipe is written to as it is.
    """
    if file.parent == _DEVICES or (file.exists() and not file.is_file() and not file.is_dir()):
        yield file
        return
    partial = file.with_name(f".{file.name}.partial")
    try:
        partial.unlink(missing_ok=True)
        partial.touch(exist_ok=False)
        if file.is_file():  # before there is anything to read
            partial.chmod(file.stat().st_mode & 0o777 | stat.S_IWUSR)
        yield partial
        partial.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise


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
    """Moves a folder in `folder` into `top`, if need be after making it writable; False if not."""
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
    """Lets the owner into a folder, but not into one that a link points at."""
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
    """Does something in the file system; False if the system refuses."""
    try:
        action(*args, **kwargs)
    except (OSError, ValueError, NotImplementedError):
        return False
    return True


# Workers may run as another user: they can pass through, and cannot list.
PASSABLE = 0o711
_LOCK, _INSIDE = "lock", "scratch"
_TRIES = 100
_FILE = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LONGEST_MARK = 200
_OTHERS_MAY_WRITE = 0o022
# Locks of another machine, on a shared file system, may be invisible here.
_ABANDONED_ELSEWHERE = 7 * 24 * 3600


class Scratch:
    """A new folder, `path`, kept while this process or one forked from it lives.

    The context manager removes it in the end.
    """

    def __init__(self, entry: Path, lock: int) -> None:
        self.path = entry / _INSIDE
        self._lock = lock

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Removes the folder, as far as it can be, and releases its lock."""
        try:
            remove_scratch(self.path)
        finally:
            os.close(self._lock)


def new_scratch(temporary: Path | None = None) -> Scratch:
    """Makes a folder below `temporary`, by default where temporary files go.

    Removes the folders of killed commands first.

    Raises:
        OSError: if none can be made.
    """
    temporary = temporary or Path(tempfile.gettempdir())
    for _ in range(_TRIES):
        with contextlib.suppress(FileNotFoundError, BlockingIOError):
            base = _base(temporary)
            _sweep(base)
            return _claimed(base)
    raise FileNotFoundError(f"folders that are made in {temporary} vanish at once")


def remove_scratch(folder: Path) -> None:
    """Removes the folder of a scratch, and then the lock beside it."""
    with contextlib.suppress(OSError):
        if remove(folder):
            lock = folder.with_name(_LOCK)
            lock.unlink()
            lock.parent.rmdir()
            lock.parent.parent.rmdir()  # if it was the last one


def _base(temporary: Path) -> Path:
    """Returns the grader's own folder; another one if somebody else has something of that name."""
    base = temporary / f"grader-scratch-{os.geteuid()}"
    with contextlib.suppress(FileNotFoundError):
        return base if _is_usable(base) else _new_base(temporary)
    new = _new_base(temporary)
    try:
        new.rename(base)
    except OSError:  # somebody else was faster
        new.rmdir()
    return base


def _is_usable(base: Path) -> bool:
    status = base.lstat()
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return is_own and stat.S_IMODE(status.st_mode) == PASSABLE


def _new_base(temporary: Path) -> Path:
    base = Path(tempfile.mkdtemp(prefix="grader-scratch-", dir=temporary))
    base.chmod(PASSABLE)
    return base


def _claimed(base: Path) -> Scratch:
    """Makes a folder and locks it.

    Raises:
        FileNotFoundError: if the base was removed meanwhile.
        BlockingIOError: if another process is checking whether it is abandoned.
    """
    entry = Path(tempfile.mkdtemp(dir=base))
    lock = os.open(entry / _LOCK, _FILE | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:  # no folder counts as abandoned where there are no locks
            if isinstance(error, BlockingIOError):
                raise
        os.write(lock, _mark(entry.stat().st_ino))
        scratch = Scratch(entry, lock)
        scratch.path.mkdir()
        scratch.path.chmod(PASSABLE)
        entry.chmod(PASSABLE)
    except BaseException:
        os.close(lock)
        remove(entry)  # it was made above, but without a mark no later command could tell
        raise
    return scratch


def _sweep(base: Path) -> None:
    """Removes the folders in the base that killed commands left."""
    with contextlib.suppress(OSError), os.scandir(base) as entries:
        for entry in entries:
            with contextlib.suppress(OSError), _abandoned(Path(entry.path)) as found:
                remove_scratch(found)


@contextlib.contextmanager
def _abandoned(entry: Path) -> Iterator[Path]:
    """Provides the scratch folder in an entry and keeps others from claiming or removing it.

    Raises:
        OSError: if this user's grader did not make it, or it is in use.
    """
    with contextlib.ExitStack() as closing:
        folder = os.open(entry, _FOLDER)
        closing.callback(os.close, folder)
        lock = os.open(_LOCK, _FILE, dir_fd=folder)
        closing.callback(os.close, lock)
        _require(_is_own(folder) and _is_own(lock) and stat.S_ISREG(os.fstat(lock).st_mode))
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        mark = os.pread(lock, _LONGEST_MARK, 0).splitlines()
        expected = _mark(os.fstat(folder).st_ino).splitlines()
        _require(mark[:2] == expected[:2])
        age = time.time() - os.fstat(lock).st_mtime
        _require(mark == expected or age > _ABANDONED_ELSEWHERE)
        yield entry / _INSIDE


def _require(is_so: bool) -> None:
    if not is_so:
        raise PermissionError


def _is_own(descriptor: int) -> bool:
    status = os.fstat(descriptor)
    return status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_MAY_WRITE


def _mark(inode: int) -> bytes:
    """Returns the content of the lock file: a grader made the folder, in this boot of a machine."""
    boot = b""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    return b"made by the grader, which removes it\nfolder %d\nstart %s\n" % (inode, boot)
