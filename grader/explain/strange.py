"""Finds the line at which the first NaN or infinity of a recorded call appears."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from grader.core.wire.records import Line, Record

STRANGE = "first NaN or infinity"


def first_strange(records: Iterable[Record]) -> tuple[int, Line] | None:
    """The record and the line at which the first NaN or positive infinity appears.

    Of a NaN after something was masked with infinity, the mask may be the cause: then None.
    """
    masked = False
    for place, record in enumerate(records):
        value = record.value
        if value.is_floating_point() and record.stack:
            overflow = bool((value == torch.inf).any())
            if overflow or bool(value.isnan().any()):
                return (place, record.stack[-1]) if overflow or not masked else None
            masked = masked or bool((value == -torch.inf).any())
    return None
