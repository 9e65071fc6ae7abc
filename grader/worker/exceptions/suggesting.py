"""What a mistyped name may have meant: Python's own suggestion, which is no part of its text."""

from __future__ import annotations

import builtins
import difflib
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FrameType, TracebackType

import torch

from grader.worker.own_files import own_file

_NAMES = 2000
_BASES = (object, torch.nn.Module)


def suggestion(exception: BaseException, trace: TracebackType | None, root: Path) -> str:
    """The known name that is most like the one which was not found; empty if none is.

    Of a name that stands elsewhere: `self.name`, or the import that would bring it.
    """
    if isinstance(exception, NameError) and trace is not None and exception.name:
        elsewhere = _elsewhere(exception.name, _innermost(trace).tb_frame, root)
        if elsewhere:
            return elsewhere
    name, known = _sought(exception, trace)
    if not name:
        return ""
    names = [one for one in known if isinstance(one, str) and one != name][:_NAMES]
    return next(iter(difflib.get_close_matches(name, names, 1, cutoff=0.7)), "")


def _innermost(trace: TracebackType) -> TracebackType:
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def _elsewhere(name: str, frame: FrameType, root: Path) -> str:
    """Where a name is found that is unknown in a frame: in `self`, or in another own module."""
    itself = frame.f_locals.get("self")
    if itself is not None:
        kinds = type(itself).__mro__
        kept = [vars(itself), *(vars(kind) for kind in kinds if kind not in _BASES)]
        if any(name in names for names in kept) or name in vars(itself).get("_modules", {}):
            return f"self.{name}"
    if (root / f"{name}.py").is_file():
        return f"import {name}"
    holding = [
        module
        for module in list(sys.modules.values())
        if own_file(str(getattr(module, "__file__", None)), root) is not None
        and getattr(vars(module).get(name), "__module__", None) == module.__name__
    ]
    return f"from {holding[0].__name__} import {name}" if len(holding) == 1 else ""


def _sought(
    exception: BaseException, trace: TracebackType | None
) -> tuple[str | None, Iterable[object]]:
    """A name that was not found, and those that there are."""
    if isinstance(exception, NameError) and trace is not None:
        frame = _innermost(trace).tb_frame
        return exception.name, [*frame.f_locals, *frame.f_globals, *vars(builtins)]
    if isinstance(exception, AttributeError) and exception.name:
        return exception.name, dir(exception.obj)
    if isinstance(exception, ImportError) and not isinstance(exception, ModuleNotFoundError):
        # Python has had it as an attribute only since 3.12.
        found = re.search(r"cannot import name '(\w+)'", str(exception))
        name = found[1] if found else None
        return name, list(vars(sys.modules.get(str(exception.name), sys)))
    return None, ()
