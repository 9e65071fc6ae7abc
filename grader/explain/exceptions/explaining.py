"""Finds the explanation of what was raised, among the kinds that are known."""

from __future__ import annotations

from grader.core.wire.calls import Raised
from grader.explain.exceptions.annotations import ANNOTATIONS
from grader.explain.exceptions.arguments import ARGUMENTS
from grader.explain.exceptions.autograd import AUTOGRAD
from grader.explain.exceptions.dtypes import DEVICES, DTYPES
from grader.explain.exceptions.imports import IMPORTS
from grader.explain.exceptions.kinds import ExceptionKind, Explanation
from grader.explain.exceptions.names import NAMES
from grader.explain.exceptions.patterns import PATTERNS
from grader.explain.exceptions.program import PROGRAM
from grader.explain.exceptions.sizes import SIZES
from grader.explain.exceptions.state_dict import STATE_DICT

# What a checker or a library raises may quote anything: it is looked at first.
KINDS: tuple[ExceptionKind, ...] = (
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
