"""Scripts: what is done, step by step, with things that stay in the worker.

Such are objects that an adapter returned, and what tests make beside a submission: parameters,
modules, optimizers, files. What a test does with them is a list of steps, each on what an earlier
step gave, and every call takes all of them along: whoever carries a script out anew comes to the
same.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.core.wire.values import Value

# How a folder is called in which a script makes files; what is told of these leaves it out.
GIVEN = "grader-given-"


class Doing(enum.StrEnum):
    """The kind of a step; all but the last two act on the thing that the step is on."""

    CALL = "call"
    READ = "read"
    WRITE = "write"
    ITERATE = "iterate"
    NEXT = "next"
    MAKE = "make"
    ASK = "ask"


@dataclass(frozen=True, slots=True)
class Step:
    """One step, on the `on`-th thing of its script, which is what the `on`-th step gave, from 0.

    `name` is that of a method or attribute; without one the thing itself is called, or read.
    `NEXT` is asked `times` times, and gives the last item. `MAKE` is the engine's own: it makes
    something beside the submission, or looks at it (`worker/calls/making.py`). `ASK` calls the
    adapter of that name. Arguments may hold a `Local`.
    """

    on: int
    doing: Doing
    name: str = ""
    positional: tuple[Value, ...] = ()
    keywords: Mapping[str, Value] = field(default_factory=dict)
    times: int = 1


def steps_as_json(steps: Sequence[Step], prefix: str, values: dict[str, Value]) -> list[list[Any]]:
    """Returns steps as JSON.

    Their arguments are added to the `values` of the frame, under the prefix.
    """
    rows = []
    for place, step in enumerate(steps):
        for number, value in enumerate(step.positional):
            values[f"{prefix}{place}.{number}"] = value
        for name, value in step.keywords.items():
            values[f"{prefix}{place}.{name}"] = value
        names = list(step.keywords)
        rows.append([step.on, step.doing, step.name, len(step.positional), names, step.times])
    return rows


def steps_from_json(
    rows: Sequence[Sequence[Any]], prefix: str, values: dict[str, Value]
) -> tuple[Step, ...]:
    """Returns the steps that `steps_as_json` described.

    Their arguments are taken out of `values`.
    """
    return tuple(
        Step(
            on,
            Doing(doing),
            name,
            tuple(values.pop(f"{prefix}{place}.{number}") for number in range(count)),
            {keyword: values.pop(f"{prefix}{place}.{keyword}") for keyword in names},
            times,
        )
        for place, (on, doing, name, count, names, times) in enumerate(rows)
    )
