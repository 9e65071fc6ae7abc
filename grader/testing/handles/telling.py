"""What can be told of a value that came of a script: which step gave it, what it was before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from grader.core.wire.modules import parameter_in
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.values import Value, in_words
from grader.testing.outcome import named, shows_expected
from grader.worker.marshalling import same_values

_LONGEST = 120
_SMALL = 256


def note_source(value: Any, step: Step | None) -> None:
    """Remembers, for the running test, the method or attribute that gave a value.

    Not of what Python shares, as small numbers: it might have come from anywhere.
    """
    if step is None or not step.name or _is_shared(value):
        return
    if step.doing is Doing.CALL:
        named(value, f"{step.name}({_arguments(step) if shows_expected() else '…'})")
    elif step.doing is Doing.READ and step.name != "grad":
        named(value, step.name)


def untouched(value: Any, step: Step | None, steps: Sequence[Step]) -> str:
    """What a tensor is that was read of a parameter, if it is as it was put there; else ""."""
    if step is None or step.doing is not Doing.READ or not isinstance(value, torch.Tensor):
        return ""
    if step.name not in ("", "grad"):
        return ""
    was = _put(steps, step)
    what = "gradient" if step.name else "parameter"
    return what if was is not None and same_values(was, value) else ""


def _put(steps: Sequence[Step], read: Step) -> Value:
    """What a test put where it reads now: the parameter's numbers, or its latest gradient."""
    for one in reversed(steps) if read.name else ():
        if one.doing is Doing.WRITE and one.on == read.on and one.name == read.name:
            return one.positional[0]
    made = steps[read.on]
    if made.doing is Doing.MAKE and made.name == "parameter":
        return made.positional[1 if read.name else 0]
    if made.doing is Doing.CALL and made.name == "get_parameter" and not read.name:
        module = steps[made.on]
        if module.doing is Doing.MAKE and module.name == "module":
            return parameter_in(module.positional[0], made.positional[0])  # type: ignore[arg-type]
    return None


def _arguments(step: Step) -> str:
    words = [*map(in_words, step.positional)]
    words += (f"{name}={in_words(value)}" for name, value in step.keywords.items())
    said = ", ".join(words)
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"


def _is_shared(value: Any) -> bool:
    if isinstance(value, int):
        return abs(value) <= _SMALL
    return value is None or (isinstance(value, str | bytes | tuple) and len(value) < 2)
