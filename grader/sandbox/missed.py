"""Where something is missing: which parts of the submission were not run before."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from grader.core.wire.calls import Raised

_ABSENCES = ("NameError", "ModuleNotFoundError", "ImportError", "FileNotFoundError", "KeyError")
_SHOWN = 3


def with_what_was_missed(raised: Raised, missed: Sequence[str]) -> Raised:
    """What was raised, with what may have defined what is missing and was not run."""
    is_absent = raised.kind in _ABSENCES or (raised.missing and not raised.frames)
    if not missed or not is_absent:
        return raised
    more = f" and {len(missed) - _SHOWN} more" if len(missed) > _SHOWN else ""
    shown = ", ".join(missed[:_SHOWN])
    return dataclasses.replace(raised, not_run=f"Not run while it is graded: {shown}{more}.")
