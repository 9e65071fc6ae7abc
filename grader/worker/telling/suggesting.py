"""What a mistyped name may have meant: Python's own suggestion, which is no part of its text."""

from __future__ import annotations

import builtins
import difflib
import sys
from collections.abc import Iterable
from types import TracebackType

_NAMES = 2000


def suggestion(exception: BaseException, trace: TracebackType | None) -> str:
    """The known name that is most like the one which was not found; empty if none is."""
    name, known = _sought(exception, trace)
    if not name:
        return ""
    names = [one for one in known if isinstance(one, str) and one != name][:_NAMES]
    return next(iter(difflib.get_close_matches(name, names, 1, cutoff=0.7)), "")


def _sought(
    exception: BaseException, trace: TracebackType | None
) -> tuple[str | None, Iterable[object]]:
    """A name that was not found, and those that there are."""
    if isinstance(exception, NameError) and trace is not None:
        while trace.tb_next is not None:
            trace = trace.tb_next
        frame = trace.tb_frame
        return exception.name, [*frame.f_locals, *frame.f_globals, *vars(builtins)]
    if isinstance(exception, AttributeError) and exception.name:
        return exception.name, dir(exception.obj)
    if isinstance(exception, ImportError) and not isinstance(exception, ModuleNotFoundError):
        name = getattr(exception, "name_from", None)
        return name, list(vars(sys.modules.get(str(exception.name), sys)))
    return None, ()
