"""Says which line was running when the time of a call was over."""

from __future__ import annotations

from collections.abc import Iterator

from grader.core.plain_text import plain
from grader.core.wire.records import Line

_ADVICE = "Does it end at all? Look at what the loops and calls around this line wait for."


def still_running(seconds: float, line: Line, is_known: bool) -> str:
    """That a call was at this line after so many seconds, and another one before it as well."""
    told = f"{round(seconds, 0 if seconds > 1 else 1):g}"
    again = ", as before" if is_known else ""
    return f"after {told} s still running {plain(line.file)}, line {line.line}{again}"


def what_runs(line: Line) -> Iterator[str]:
    """The line as it stands in its file, and what to ask of it."""
    yield f"    {plain(line.source)}"
    yield _ADVICE
