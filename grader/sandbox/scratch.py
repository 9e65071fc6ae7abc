"""The folder in which a judge keeps private copies of submissions and what workers write."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from pathlib import Path

from grader.removal import remove

# Workers, who may have a user of their own, pass through; they cannot list what lies beside them.
PASSABLE = 0o711
# No system counts its processes further; folders may be called anything.
_NAME = re.compile(r"grader-([0-9]{1,9})-")


def new_scratch() -> Path:
    """A new folder for this process; those of judges that were killed are removed."""
    parent = Path(tempfile.gettempdir())
    _sweep(parent)
    scratch = Path(tempfile.mkdtemp(prefix=f"grader-{os.getpid()}-", dir=parent))
    scratch.chmod(PASSABLE)
    return scratch


def _sweep(parent: Path) -> None:
    """Removes this user's folders of judges that are gone; whatever else lies there stays."""
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            match = _NAME.match(entry.name)
            if match and _is_own_folder(entry) and not _is_running(int(match[1])):
                remove(Path(entry.path))


def _is_own_folder(entry: os.DirEntry[str]) -> bool:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another's process, or nobody can tell
        return True
    return True
