"""Describes what a submission raised: kind, message and the submission's own lines, bounded."""

from __future__ import annotations

import linecache
import sys
import traceback
from pathlib import Path
from types import TracebackType

from grader.wire.calls import Frame, Raised

_MESSAGE = 4000
_FRAMES = 20


def describe_exception(exception: BaseException, root: Path) -> Raised:
    """An exception as text; `frames` are those of files below `root`, innermost last."""
    kind = type(exception).__name__
    frames = _own_frames(exception, root)
    return Raised(
        kind=kind[:100],
        message=_message(exception)[:_MESSAGE],
        frames=frames,
        missing=isinstance(exception, NotImplementedError) and _is_deliberate(frames),
    )


def _is_deliberate(frames: tuple[Frame, ...]) -> bool:
    """Whether the submission raised it itself; torch raises the same where a kernel is missing."""
    return bool(frames) and frames[-1].source.startswith("raise")


def _message(exception: BaseException) -> str:
    try:
        if isinstance(exception, SyntaxError):
            return exception.msg or "invalid syntax"
        return str(exception)
    except BaseException as second:
        return f"(its text cannot be shown: printing it raised {type(second).__name__})"


def _own_frames(exception: BaseException, root: Path) -> tuple[Frame, ...]:
    frames = [
        Frame(file, line, function[:100], _source(root / file, line))
        for file, line, function in _walk(exception.__traceback__, root)
    ]
    if isinstance(exception, SyntaxError) and exception.filename:
        file = _relative(exception.filename, root)
        if file is not None:
            text = (exception.text or "").strip()[:300]
            frames.append(Frame(file, exception.lineno or 0, "", text))
    return tuple(frames[-_FRAMES:])


def _walk(trace: TracebackType | None, root: Path) -> list[tuple[str, int, str]]:
    found = []
    for frame, line in traceback.walk_tb(trace):
        file = _relative(frame.f_code.co_filename, root)
        if file is not None:
            found.append((file, line, frame.f_code.co_name))
    return found[-_FRAMES:]


def _relative(filename: str, root: Path) -> str | None:
    """A file's path below `root`; None elsewhere, and for packages that are installed below it."""
    try:
        path = Path(filename)
        return None if path.is_relative_to(sys.prefix) else path.relative_to(root).as_posix()
    except (ValueError, TypeError):
        return None


def _source(path: Path, line: int) -> str:
    return linecache.getline(str(path), line).strip()[:300]
