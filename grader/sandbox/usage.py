"""What processes use, as the system tells: memory, disk, and whether they are still there."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Mapping
from pathlib import Path

_DEEPEST = 100  # folders inside one another
_UNCOUNTABLE = (errno.ENAMETOOLONG, errno.EACCES)


def family(pid: int) -> list[int]:
    """A process and its descendants, as far as they can be seen."""
    family, waiting = [pid], [pid]
    while waiting:
        parent = waiting.pop()
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                children = [int(child) for child in (task / "children").read_text().split()]
                family += children
                waiting += children
    return family


def private_memory(pids: list[int]) -> int:
    """The bytes of anonymous and shared memory that processes hold (Linux; elsewhere 0)."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields: Mapping[str, str] = dict(
                line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
            )
            total += sum(int(fields.get(key, "0").split()[0]) for key in ("RssAnon", "RssShmem"))
    return total * 1024


def fits(folder: Path, size: int, files: int) -> bool:
    """Whether what lies in a folder stays within so many bytes and files.

    What is too deep or too closed to be counted does not.
    """
    waiting = [(folder, _DEEPEST)]
    while waiting:
        path, depth = waiting.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    files -= 1
                    with contextlib.suppress(FileNotFoundError):
                        size -= entry.stat(follow_symlinks=False).st_blocks * 512
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append((Path(entry.path), depth - 1))
                    if files < 0 or size < 0 or depth < 0:
                        return False
        except OSError as error:
            if error.errno in _UNCOUNTABLE:
                return False
    return True


def is_alive(pid: int) -> bool:
    """Whether a process is running: one that only waits to be buried is not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 0)
            return not Path("/proc/self").exists()
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
