"""Finds the explanation of what was raised, among the kinds that are known."""

from __future__ import annotations

from grader.testing.exceptions.annotations import ANNOTATIONS
from grader.testing.exceptions.arguments import ARGUMENTS
from grader.testing.exceptions.autograd import AUTOGRAD
from grader.testing.exceptions.dtypes import DEVICES, DTYPES
from grader.testing.exceptions.imports import IMPORTS
from grader.testing.exceptions.kinds import Explanation, Kind
from grader.testing.exceptions.names import NAMES
from grader.testing.exceptions.patterns import PATTERNS
from grader.testing.exceptions.program import PROGRAM
from grader.testing.exceptions.sizes import SIZES
from grader.testing.exceptions.state_dict import STATE_DICT
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
