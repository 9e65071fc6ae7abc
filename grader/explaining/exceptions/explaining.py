"""Finds the explanation of what was raised, among the kinds that are known."""

from __future__ import annotations

from grader.explaining.exceptions.annotations import ANNOTATIONS
from grader.explaining.exceptions.arguments import ARGUMENTS
from grader.explaining.exceptions.autograd import AUTOGRAD
from grader.explaining.exceptions.dtypes import DEVICES, DTYPES
from grader.explaining.exceptions.imports import IMPORTS
from grader.explaining.exceptions.kinds import Explanation, Kind
from grader.explaining.exceptions.names import NAMES
from grader.explaining.exceptions.patterns import PATTERNS
from grader.explaining.exceptions.program import PROGRAM
from grader.explaining.exceptions.sizes import SIZES
from grader.explaining.exceptions.state_dict import STATE_DICT
from grader.wire.calls import Raised

# What a checker or a library raises may quote anything: it is looked at first.
KINDS: tuple[Kind, ...] = (
    *ANNOTATIONS,
    *PATTERNS,
    *STATE_DICT,
    *DEVICES,
    *DTYPES,
    *SIZES,
    *AUTOGRAD,
    *IMPORTS,
    *ARGUMENTS,
    *NAMES,
    *PROGRAM,
)


def explanation_of(raised: Raised) -> Explanation | None:
    """What is known of the kind of exception; None if nothing is."""
    for kind in KINDS:
        explanation = kind.explanation(raised)
        if explanation is not None:
            return explanation
    return None
