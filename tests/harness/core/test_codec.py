"""The codec: dataclasses cross as plain data and match their annotations, whatever was sent."""

from __future__ import annotations

import dataclasses
import json
import random
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest

from grader.core.wire.calls import Frame, ImportReport, Operand, Raised, Use
from grader.core.wire.records import KEPT_HERE, AtMost, BadFrame, Below, Line, read, reader, written

pytestmark = pytest.mark.unit


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a `Whole`."""

    name: Annotated[str, AtMost(3)]
    place: Annotated[int, Below(10)] = 0


@dataclass(frozen=True, slots=True)
class Whole:
    """A dataclass with every kind of annotation."""

    parts: Annotated[tuple[Part, ...], AtMost(2)]
    last: Annotated[tuple[int, ...], AtMost(2, last=True)] = ()
    pair: tuple[str, float] = ("", 0.0)
    flag: bool = False
    maybe: Part | None = None
    ours: str = field(default="", metadata=KEPT_HERE)


RAISED = Raised(
    "ValueError",
    "no",
    frames=(Frame("a.py", 3, "f", "return x"),),
    missing=True,
    operands=(Operand("x", "float32[2]"),),
)
REPORT = ImportReport(("run_x",), RAISED, (RAISED,), (Use("torch.f", "a.py", 1),), ("b",), ("!ls",))


@pytest.mark.parametrize("value", [RAISED, REPORT, Whole((Part("a", 9),), maybe=Part("b"))])
def test_dataclasses_survive_a_round_trip_through_json(value: Any) -> None:
    """The value passes through JSON, as it does between processes."""
    assert read(type(value), json.loads(json.dumps(written(value)))) == value


def test_texts_and_lists_are_cut_at_their_bounds() -> None:
    """Some lists keep their end. The part that is cut off may hold anything."""
    parts = [{"name": "abcdef", "place": 1}, {"name": "b", "place": 2}, "nonsense"]
    last, pair = ["nonsense", 2, 3], ["x", 1.0]
    whole = read(Whole, {"parts": parts, "last": last, "pair": pair, "flag": True, "maybe": None})
    assert whole == Whole((Part("abc", 1), Part("b", 2)), (2, 3), ("x", 1.0), True)


def test_a_name_of_several_lines_is_read_on_one() -> None:
    """A submission names its classes, and a line of its own would look like the grader's."""
    plain = written(dataclasses.replace(RAISED, kind="Odd\nRight so far: all."))
    assert read(Raised, plain).kind == "Odd Right so far: all."


def test_a_place_and_its_source_are_read_on_one_line() -> None:
    """A file, a class or a line may be called so that its rest looks like the grader's words."""
    broken = "a\nFull  marks\x0cb\u2028c"
    line = read(Line, {"file": broken, "line": 3, "source": broken})
    assert line == Line("a Full  marks b c", 3, "a Full  marks b c")
    operand = read(Operand, {"name": broken, "words": broken})
    assert operand.words == "a Full  marks b c"


def test_a_field_kept_by_the_receiver_is_neither_sent_nor_accepted() -> None:
    plain = written(dataclasses.replace(RAISED, not_run="passed", printed="passed"))
    assert read(Raised, plain) == RAISED
    assert read(Raised, {**plain, "not_run": "passed"}) == RAISED


@pytest.mark.parametrize(
    "entry",
    [
        *(None, 1, "ab", {}, [], [1, 2], {"place": 1}, {"name": None}, {"name": b"a"}),
        *({"name": "a", "place": own} for own in (10, -1, 1.0, True, "1", 10**300, [])),
    ],
)
def test_data_that_does_not_match_the_annotations_is_refused(entry: object) -> None:
    """Refused are numbers out of range, other types, and objects that lack a field."""
    with pytest.raises(BadFrame):
        read(Part, entry)


@pytest.mark.process(takes="a second")
def test_randomly_changed_data_is_refused_or_within_its_bounds() -> None:
    """The test makes ten thousand random changes, each at one place."""
    drawn = random.Random(5)
    odd = [None, True, -1, 1 << 40, 10**300, 0.5, float("nan"), "x" * 10_000, [], [[]] * 5000, {}]
    reads, taken = reader(ImportReport), 0
    for _ in range(10_000):
        entry = json.loads(json.dumps(written(REPORT)))
        place = entry
        while True:
            at = drawn.choice([*place] if isinstance(place, dict) else range(len(place)))
            if not isinstance(place[at], list | dict) or not place[at] or drawn.random() < 0.2:
                place[at] = drawn.choice(odd)
                break
            place = place[at]
        try:
            report = reads(entry)
        except BadFrame:
            continue
        taken += 1
        assert len(json.dumps(written(report))) < 80_000
    assert taken
