"""Files that are replaced at once, and exceptions with a reason in place of an OSError."""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Iterator
from pathlib import Path

_DEVICES = Path("/dev")  # a new file there would replace a device, or a link to one


@contextlib.contextmanager
def refusing(kind: type[Exception], said: str) -> Iterator[None]:
    """Turns an OSError inside the block into an exception of `kind`: `said`, then the reason."""
    try:
        yield
    except OSError as error:
        raise kind(f"{said}: {error.strerror}") from error


@contextlib.contextmanager
def replaced(file: Path) -> Iterator[Path]:
    """Provides a temporary file to write, which replaces `file` at the end.

    An exception removes the temporary file. The temporary file is always a new one: an earlier
    owner of the folder may have put a link in its place. If `file` exists, the new file gets its
    permissions, and its owner may write. A device or a pipe is written to directly.
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
