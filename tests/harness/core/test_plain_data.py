"""Plain data: dataclasses as objects of JSON, and back."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from grader.core.text import PlainData

pytestmark = pytest.mark.unit


@dataclass(frozen=True, slots=True)
class Part(PlainData):
    """A part of a `Whole`."""

    name: str = ""
    number: float = 0.0


@dataclass(frozen=True, slots=True)
class Whole(PlainData):
    """A dataclass with a field of every kind."""

    path: Path
    moment: datetime.datetime | None = None
    pair: tuple[str, int] = ("", 0)
    parts: tuple[Part, ...] = ()
    names: frozenset[str] = frozenset()
    table: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    part: Part = Part()
    made_here: int = field(init=False, default=0)


WHOLE = Whole(
    Path("a/b"),
    datetime.datetime(2026, 10, 3, 23, 59, tzinfo=datetime.UTC),
    ("x", 3),
    (Part("one", math.inf), Part("two", -0.5)),
    frozenset({"b", "a"}),
    {"k": (1.0, -math.inf)},
    Part("in", 2.5),
)
ROW = {
    "path": "a/b",
    "moment": "2026-10-03T23:59:00+00:00",
    "pair": ["x", 3],
    "parts": [{"name": "one", "number": "inf"}, {"name": "two", "number": -0.5}],
    "names": ["a", "b"],
    "table": {"k": [1.0, "-inf"]},
    "part": {"name": "in", "number": 2.5},
}


def test_a_field_of_every_kind_is_written_as_json_and_read_back() -> None:
    """Sets are sorted, infinities are texts, and a field that is made here does not cross."""
    assert WHOLE.as_json() == ROW
    assert Whole.from_json(json.loads(json.dumps(ROW, allow_nan=False))) == WHOLE


def test_a_missing_field_has_its_default_and_null_is_none() -> None:
    """Rows of an older version lack fields."""
    assert Whole.from_json({"path": "x"}) == Whole(Path("x"))
    assert Whole.from_json({"path": "x", "moment": None}).moment is None
    assert math.isnan(Part.from_json({"number": "nan"}).number)


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"path": 3},
        {"path": "x", "pair": ["x", 3, 4]},
        {"path": "x", "moment": "yesterday"},
        {"path": "x", "names": 3},
        {"path": "x", "table": 3},
        {"path": "x", "parts": [{"number": "much"}]},
    ],
)
def test_a_row_of_another_form_is_refused(row: dict[str, Any]) -> None:
    """The errors are those that the reader of a row expects."""
    with pytest.raises((LookupError, TypeError, ValueError)):
        Whole.from_json(row)
