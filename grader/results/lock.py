"""At most one batch writes to a folder."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from grader.results.database import StoreError

_LOCK = "results.lock"


class StoreInUse(StoreError):
    """Another batch is writing to the folder."""


def lock_folder(folder: Path) -> int:
    """Makes the folder if need be; the descriptor returned holds its lock until it is closed.

    The system closes it whatever ends the process, so that no lock is left behind.

    Raises:
        StoreInUse: if another process holds the lock.
        StoreError: if the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise StoreError(
            f"results cannot be written to {folder}: {error.strerror}; "
            "name a folder of yours with --out"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        raise StoreInUse(
            f"another batch is writing to {folder}: wait until it ends, or name another --out"
        ) from error
    except OSError as error:
        os.close(lock)
        raise StoreError(
            f"{folder} cannot be locked against other batches ({error.strerror}): "
            "name a folder on a local disk with --out"
        ) from error
    return lock
