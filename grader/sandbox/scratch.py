"""The folder in which a judge keeps private copies of submissions and what workers write."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

# Workers, who may have a user of their own, pass through; they cannot list what lies beside them.
PASSABLE = 0o711
_NAME = re.compile(r"grader-(\d+)-")


def new_scratch() -> Path:
    """A new folder for this process; those of judges that were killed are removed."""
    parent = Path(tempfile.gettempdir())
    _sweep(parent)
    scratch = Path(tempfile.mkdtemp(prefix=f"grader-{os.getpid()}-", dir=parent))
    scratch.chmod(PASSABLE)
    return scratch


def _sweep(parent: Path) -> None:
    for folder in parent.glob("grader-*-*"):
        match = _NAME.match(folder.name)
        with contextlib.suppress(OSError):
            if match and folder.stat().st_uid == os.geteuid() and not _is_running(int(match[1])):
                shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
