"""Writes values as TOML, so that `tomllib` reads them back as they were."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence

Value = str | bool | int | float | datetime.datetime | Sequence["Value"]


def toml_value(value: Value) -> str:
    """Returns the right side of `key = value`, for a text, a number, a moment or a list."""
    if isinstance(value, str):
        # A basic string has the escapes of JSON, and one more character that needs them.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, float):
        return repr(value)  # JSON has other words for infinity, and for what is no number
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, Sequence):
        return f"[{', '.join(map(toml_value, value))}]"
    return json.dumps(value)
