"""Watches a worker's memory, threads and disk, where the kernel keeps no limit."""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.core.folders import opened
from grader.core.processes import Allowance
from grader.sandbox.limits import Exceeded

# Anonymous memory (resident or swapped), shared memory, and the page tables of both.
_MEMORY = ("RssAnon", "VmSwap", "RssShmem", "VmPTE")


@dataclass(frozen=True, slots=True)
class Usage:
    """The bytes of memory that processes hold, page tables among them, and their threads."""

    memory: int
    threads: int

    @classmethod
    def of(cls, pids: Iterable[int]) -> Usage:
        """Returns the memory and the threads that processes use; zeros outside Linux."""
        memory = threads = 0
        for pid in pids:
            with contextlib.suppress(OSError):
                status = Path(f"/proc/{pid}/status").read_bytes().decode(errors="replace")
                lines = status.split("\n")[:-1]
                told: Mapping[str, str] = dict(line.split(":", 1) for line in lines)
                memory += sum(int(told.get(key, "0").split()[0]) for key in _MEMORY)
                threads += int(told.get("Threads", "0"))
        return cls(1024 * memory, threads)


def process_tree(pid: int) -> list[int]:
    """Returns a process and its descendants, as far as they can be seen."""
    found, waiting = [pid], [pid]
    while waiting:
        parent = waiting.pop()
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                children = [int(child) for child in (task / "children").read_text().split()]
                found += children
                waiting += children
    return found


_DEEPEST = 100  # folders inside one another
_PR_SET_PDEATHSIG, _PR_GET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 2, 4
_BLOCK = 512  # bytes, in every file system (stat(2))


@dataclass(slots=True)
class DiskQuota:
    """The number of bytes and of file names that may still be taken.

    The bytes of a file count once, however many names the file has.
    """

    size: int
    files: int
    _seen: set[tuple[int, int]] = field(default_factory=set)

    def charge(self, status: os.stat_result) -> None:
        """Counts a file's name, and the bytes that are allocated for the file."""
        self.files -= 1
        if (file := (status.st_dev, status.st_ino)) not in self._seen:
            self._seen.add(file)
            self.size -= status.st_blocks * _BLOCK

    def charge_unseen(self, device: int, number: int, size: int) -> None:
        """Counts a file of unknown size by the largest `size` that it may have."""
        if (device, number) not in self._seen:
            self._seen.add((device, number))
            self.size -= size

    @property
    def is_kept(self) -> bool:
        """Returns whether everything taken so far fits."""
        return self.size >= 0 and self.files >= 0


def fits(folder: Path, quota: DiskQuota) -> bool:
    """Returns whether all files that can be listed below a folder fit.

    Files too deep to be counted do not fit. Opens folders that their owner closed.
    """
    try:
        with opened(os.fspath(folder)) as top:
            return _fits(top, quota, _DEEPEST)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _fits(folder: int, quota: DiskQuota, depth: int) -> bool:
    inner = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                quota.charge(entry.stat(follow_symlinks=False))
                if entry.is_dir(follow_symlinks=False):
                    inner.append(entry.name)
            if not quota.is_kept:
                return False
    if inner and depth == 0:
        return False
    for name in inner:
        with contextlib.suppress(FileNotFoundError), opened(name, folder) as one:
            if not _fits(one, quota, depth - 1):
                return False
    return True


def charge_unlisted(
    pid: int, folder: Path, largest: int, user: int | None, quota: DiskQuota
) -> None:
    """Counts the files of `folder` that have lost their names, but are open or mapped.

    The size of a file that is only mapped is unknown: it counts as `largest`. `user` is the
    process's own user, if it has one.
    """
    with _seen_as(user), contextlib.suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                status = descriptor.stat()
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                    quota.charge(status)
        for device, number in _unlinked_maps(pid, folder):
            quota.charge_unseen(device, number, largest)


def _unlinked_maps(pid: int, folder: Path) -> Iterator[tuple[int, int]]:
    """Yields the device and inode of each mapped, deleted file below a folder (proc(5))."""
    for line in Path(f"/proc/{pid}/maps").read_bytes().splitlines():
        if line.endswith(b" (deleted)") and os.fsencode(folder) in line:
            major, minor = line.split()[3].split(b":")
            yield os.makedev(int(major, 16), int(minor, 16)), int(line.split()[4])


@contextlib.contextmanager
def _seen_as(user: int | None) -> Iterator[None]:
    """Takes on a user for file access, to see what only that user may see (setfsuid(2)).

    A superuser in a container often may not trace others' processes, but may act as their user. A
    change of user clears the signal that ends this process with its parent; it is set again.
    """
    if user is None or sys.platform != "linux":
        yield
        return
    libc, at_death = ctypes.CDLL(None), ctypes.c_int()
    libc.prctl(_PR_GET_PDEATHSIG, ctypes.byref(at_death), 0, 0, 0)
    own_group, own_user = libc.setfsgid(user), libc.setfsuid(user)
    try:
        yield
    finally:
        libc.setfsuid(own_user)
        libc.setfsgid(own_group)
        libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
        libc.prctl(_PR_SET_PDEATHSIG, at_death.value, 0, 0, 0)


_SECONDS_BETWEEN_DISK_LOOKS = 0.05


class UsageWatch:
    """A watch over the usage of one worker, which begins before the worker has used anything.

    `user` is the worker's own, if it has one; `scratch` is the folder that it writes to.
    `kept` names those of the limits (memory, threads, disk) that the kernel keeps by itself. While
    `is_alone`, the worker can start no other process.
    """

    def __init__(self, pid: int, user: int | None, scratch: Path, allowance: Allowance) -> None:
        self._pid, self._user, self._scratch = pid, user, scratch
        self._allowance = allowance
        self._before = Usage.of([pid])
        self._looked_at_disk = 0.0
        self.kept: Collection[str] = ()
        self.is_alone = False

    @property
    def held(self) -> int:
        """Returns the bytes of memory that the worker holds beyond those of the first look."""
        return self._usage().memory - self._before.memory

    def look(self) -> None:
        """Looks once at memory, threads and disk.

        Raises:
            Exceeded: if the worker uses more than it may.
        """
        if not {"memory", "threads"} <= set(self.kept):
            self._look_at_memory_and_threads()
        # Listing folders takes twenty times as long as reading the memory; filling them, longer.
        now = time.monotonic()
        if "disk" not in self.kept and now - self._looked_at_disk >= _SECONDS_BETWEEN_DISK_LOOKS:
            self._looked_at_disk = now
            self._look_at_disk()

    def _look_at_memory_and_threads(self) -> None:
        allowance, usage = self._allowance, self._usage()
        if "memory" not in self.kept and usage.memory - self._before.memory > allowance.memory:
            raise out_of_memory(allowance)
        if "threads" not in self.kept and usage.threads > allowance.threads:
            raise Exceeded(f"it started more than its limit of {allowance.threads} threads")

    def _usage(self) -> Usage:
        return Usage.of([self._pid] if self.is_alone else process_tree(self._pid))

    def _look_at_disk(self) -> None:
        allowance = self._allowance
        quota = DiskQuota(allowance.disk, allowance.files)
        is_kept = fits(self._scratch, quota)
        charge_unlisted(self._pid, self._scratch, allowance.file_size, self._user, quota)
        if not is_kept or not quota.is_kept:
            raise Exceeded(
                f"it wrote more than its limit of {allowance.disk >> 20} MB or {allowance.files} "
                "files, or in folders that cannot be counted"
            )


def out_of_memory(allowance: Allowance) -> Exceeded:
    """Returns the reason for ending a worker that took too much memory."""
    return Exceeded(f"it used more than its limit of {allowance.memory >> 20} MB of memory")
