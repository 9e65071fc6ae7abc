"""The seconds that a submission's imports took, as its worker tells them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from grader.core.wire.payload import BadFrame

MAX_IMPORTS = 40
_LONGEST = 100
_WORTH_TELLING = 1e-3


def imports_as_json(seconds: Mapping[str, float]) -> list[Any]:
    """The slowest imports as a JSON array; what takes no millisecond is left out."""
    slow = [entry for entry in seconds.items() if entry[1] >= _WORTH_TELLING]
    slowest = sorted(slow, key=lambda entry: -entry[1])[:MAX_IMPORTS]
    return [[name, round(float(taken), 4)] for name, taken in slowest]


def imports_from_json(entry: object, at_most: float) -> dict[str, float]:
    """What `imports_as_json` wrote: names as imports have them, `at_most` so many seconds in all.

    Raises:
        BadFrame: if it is something else.
    """
    if not isinstance(entry, list):
        raise BadFrame("the imports are not a list")
    seconds: dict[str, float] = {}
    for row in entry[:MAX_IMPORTS]:
        if not isinstance(row, list) or len(row) != 2 or type(row[1]) is not float:
            raise BadFrame("an import is not described as it must be")
        name, taken = row
        if not isinstance(name, str) or not 0 <= taken < math.inf:
            raise BadFrame("an import is not described as it must be")
        if _is_dotted(name):
            left = at_most - sum(seconds.values())
            seconds[name] = round(min(taken, max(left, 0.0)), 4)
    return seconds


def texts_from_json(entry: object) -> tuple[str, ...]:
    """What a worker says is not there, or was not done: texts, bounded.

    Raises:
        BadFrame: if it is something else.
    """
    if not isinstance(entry, list):
        raise BadFrame("what an import lacks is not a list")
    return tuple(str(name)[:_LONGEST] for name in entry[:MAX_IMPORTS])


def _is_dotted(name: str) -> bool:
    return len(name) <= _LONGEST and all(part.isidentifier() for part in name.split("."))
