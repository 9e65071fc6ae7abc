"""Calls out and answers back: what judge and worker say to each other."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from grader.core.wire.frames import ANSWER, RECORDED, Received, decode, encode
from grader.core.wire.records import Line, Record, records_as_json, records_from_json, values_of
from grader.core.wire.scripts import Doing, Step, steps_as_json, steps_from_json
from grader.core.wire.tensors import BadFrame
from grader.core.wire.values import Value

MAX_USES = 100
MAX_CELL_ERRORS = 20
MAX_OPERANDS = 8
# Whoever executes more lines is not counted any further.
MOST_LINES = 5_000_000
_LINES = 1 << 31


class Traced(enum.StrEnum):
    """The property of a result that is traced to the line that caused it."""

    TYPE = "type"
    DTYPE = "dtype"
    SHAPE = "shape"
    GRADIENT = "gradient"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an adapter, and what shall be observed while it runs.

    `wrt` names the arguments whose vector-Jacobian products with `cotangent` are wanted;
    `device` is where the arguments are put, `default_device` whether new tensors go there too.
    The steps `before` it are taken first; the answer is that to the last of those that are `then`
    taken, if there are some. Without an `adapter` there are steps alone.
    `trace` asks for the line of the submission that made the result what it is: its type, its
    dtype, its shape, or that no gradient comes through.
    `frame` is the call as it crosses, where that was encoded before; `exercise`, which does not,
    is the adapter whose test asks, where it asks another one.
    """

    adapter: str
    arguments: Mapping[str, Value]
    seed: int = 0
    wrt: tuple[str, ...] = ()
    cotangent: torch.Tensor | None = None
    device: str = "cpu"
    default_device: bool = False
    count_work: bool = False
    count_lines: bool = False
    watch_inputs: bool = False
    record: bool = False
    before: tuple[Step, ...] = ()
    then: tuple[Step, ...] = ()
    trace: Traced | None = None
    frame: bytes | None = field(default=None, compare=False, repr=False)
    exercise: str = field(default="", compare=False, repr=False)

    @property
    def is_plain(self) -> bool:
        """Whether nothing but the result is wanted, where calls are made by default."""
        observes = self.wrt or self.counts or self.watch_inputs or self.trace
        return not (observes or self.default_device)

    @property
    def counts(self) -> bool:
        """Whether the work that it makes is counted."""
        return self.count_work or self.count_lines

    @property
    def is_script(self) -> bool:
        """Whether it is more than one call of a function."""
        return bool(self.before or self.then)

    @property
    def last(self) -> Step | None:
        """The step whose answer is wanted; None if that is the call itself."""
        if self.then:
            return self.then[-1]
        return self.before[-1] if self.before and not self.adapter else None

    @property
    def asks_for_an_item(self) -> bool:
        """Whether the answer is to be the next item of something."""
        return self.last is not None and self.last.doing is Doing.NEXT


# What of a call is told only where it is unlike this.
_USUAL = (
    ("wrt", ()),
    ("device", "cpu"),
    ("default_device", False),
    ("count_work", False),
    ("count_lines", False),
    ("watch_inputs", False),
    ("record", False),
    ("trace", None),
)
# No parameter of an adapter has this name.
_COTANGENT = ""
_BEFORE, _THEN = "before.", "then."


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of the submission that an exception passed through."""

    file: str
    line: int
    function: str
    source: str


@dataclass(frozen=True, slots=True)
class Operand:
    """A name in the expression that raised, and what it stood for: `Q`, `float32[2, 5, 8]`.

    `made` is the statement of the same function that set it last, at `line`, if that is plain.
    """

    name: str
    words: str
    made: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception, as text. `frames` are the submission's own, innermost last.

    `culprit` is the line that is to be mended, where that is plainly another.
    Of the innermost frame: its `operands`, the column at which its syntax is wrong (from 1), and
    for wrong arguments what the called function `accepts`. `suggestion` is a name that may have
    been meant, and `lacks` the package whose import found none. The judge adds what the submission
    `printed` just before, and, where it knows better what was amiss, a `headline` and a `remark`.
    Where something is missing, it adds what was `not_run`, which may have defined it.
    """

    kind: str
    message: str
    frames: tuple[Frame, ...] = ()
    missing: bool = False
    operands: tuple[Operand, ...] = ()
    culprit: Frame | None = None
    column: int = 0
    accepts: str = ""
    suggestion: str = ""
    lacks: str = ""
    printed: str = ""
    headline: str = ""
    remark: str = ""
    not_run: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """How many torch operations a call made, and the elements of the largest tensor among them.

    Or how many `lines` of Python it executed. Nothing is counted that was not asked for.
    """

    operations: int = 0
    largest: int = 0
    lines: int = 0


@dataclass(frozen=True, slots=True)
class Use:
    """A line of the submission that uses something which the assignment forbids."""

    name: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a call: a value or an exception, and the observations.

    `origin` is the line of the submission that a traced call found.
    Equal digests are equal answers, and `size` is about how many bytes one holds; who receives an
    answer may give it both.
    """

    value: Value = None
    raised: Raised | None = None
    gradients: Mapping[str, torch.Tensor] = field(default_factory=dict)
    changed_inputs: tuple[str, ...] = ()
    work: Work | None = None
    uses: tuple[Use, ...] = ()
    records: tuple[Record, ...] = ()
    origin: Line | None = None
    digest: bytes | None = None
    size: int = 0


def encode_call(call: Call, known: int = 0) -> bytes:
    """The frame that asks a worker for a call, of which it knows so many steps (`following.py`)."""
    if call.frame is not None and not known:
        return call.frame
    header: dict[str, Any] = {"adapter": call.adapter, "seed": call.seed}
    if known:
        header["known"] = known
    header |= {name: chosen for name, usual in _USUAL if (chosen := getattr(call, name)) != usual}
    values = dict(call.arguments)
    if call.cotangent is not None:
        values[_COTANGENT] = call.cotangent
    if call.before:
        header["before"] = steps_as_json(call.before, _BEFORE, values)
    if call.then:
        header["then"] = steps_as_json(call.then, _THEN, values)
    return encode(header, values)


def call_in(header: dict[str, Any], values: dict[str, Value]) -> Call:
    """The call in what a frame of the judge's holds."""
    cotangent = values.pop(_COTANGENT, None)
    if "trace" in header:
        header["trace"] = Traced(header["trace"])
    if "wrt" in header:
        header["wrt"] = tuple(header["wrt"])
    if "before" in header:
        header["before"] = steps_from_json(header["before"], _BEFORE, values)
    if "then" in header:
        header["then"] = steps_from_json(header["then"], _THEN, values)
    return Call(
        arguments=values,
        cotangent=cotangent if isinstance(cotangent, torch.Tensor) else None,
        **header,
    )


def encode_answer(answer: Answer) -> bytes:
    """The frame in which a worker answers a call."""
    values: dict[str, Value] = {"value": answer.value}
    header: dict[str, Any] = {}
    if answer.raised is not None:
        header["raised"] = raised_as_json(answer.raised)
    if answer.gradients:
        values |= {f"gradient.{name}": gradient for name, gradient in answer.gradients.items()}
    if answer.changed_inputs:
        header["changed_inputs"] = answer.changed_inputs
    if answer.work is not None:
        header["work"] = (answer.work.operations, answer.work.largest, answer.work.lines)
    if answer.uses:
        header["uses"] = uses_as_json(answer.uses)
    if answer.records:
        values |= values_of(answer.records)
        header["records"] = records_as_json(answer.records)
    if answer.origin is not None:
        header["origin"] = [answer.origin.file, answer.origin.line, answer.origin.source]
    return encode(header, values, RECORDED if answer.records else ANSWER)


def decode_answer(frame: Received) -> Answer:
    """The answer in a frame that a worker sent; its digest is that of the frame.

    Raises:
        BadFrame: if it is not an answer.
    """
    header, values = decode(frame)
    changed, work = header.get("changed_inputs", []), header.get("work")
    if not isinstance(changed, list) or not all(isinstance(name, str) for name in changed):
        raise BadFrame("the changed inputs are not a list of names")
    return Answer(
        value=values.get("value"),
        raised=raised_from_json(header.get("raised")),
        gradients={
            name.removeprefix("gradient."): value
            for name, value in values.items()
            if name.startswith("gradient.") and isinstance(value, torch.Tensor)
        },
        changed_inputs=tuple(name[:100] for name in changed[:100]),
        work=None if work is None else Work(*_counts_of_work(work)),
        uses=uses_from_json(header.get("uses", [])),
        records=records_from_json(header.get("records"), values),
        origin=_line_from_json(header.get("origin")),
        digest=frame.digest(),
        size=frame.size,
    )


def _line_from_json(row: object) -> Line | None:
    if row is None:
        return None
    if not isinstance(row, list) or len(row) != 3 or type(row[1]) is not int:
        raise BadFrame("the line behind a result is not described as it must be")
    if not 0 <= row[1] < _LINES:
        raise BadFrame("the line behind a result is one that cannot be")
    return Line(str(row[0])[:300], row[1], str(row[2])[:300])


def _counts_of_work(numbers: object) -> tuple[int, int, int]:
    if not isinstance(numbers, list) or len(numbers) != 3:
        raise BadFrame("the work done is not three counts")
    if any(type(count) is not int or not 0 <= count < 1 << 62 for count in numbers):
        raise BadFrame("the work done is not three counts")
    return numbers[0], numbers[1], numbers[2]


def raised_as_json(raised: Raised | None) -> dict[str, Any] | None:
    """Returns an exception as a JSON object, and None for None."""
    if raised is None:
        return None
    return {
        "kind": raised.kind,
        "message": raised.message,
        "missing": raised.missing,
        "frames": [[f.file, f.line, f.function, f.source] for f in raised.frames],
        "culprit": [[f.file, f.line, f.function, f.source] for f in [raised.culprit] if f],
        "operands": [[one.name, one.words, one.made, one.line] for one in raised.operands],
        "column": raised.column,
        "accepts": raised.accepts,
        "suggestion": raised.suggestion,
        "lacks": raised.lacks,
    }


def raised_from_json(entry: object) -> Raised | None:
    """Reads the exception that `raised_as_json` wrote, and bounds its texts.

    Raises:
        BadFrame: if it is something else.
    """
    if entry is None:
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("frames"), list):
        raise BadFrame("what was raised is not described as it must be")
    column = entry.get("column", 0)
    if type(column) is not int or not 0 <= column < _LINES:
        raise BadFrame("what was raised is at a column that cannot be")
    culprit = _frames(entry.get("culprit", []))
    return Raised(
        kind=str(entry.get("kind"))[:100],
        message=str(entry.get("message"))[:4000],
        frames=_frames(entry["frames"]),
        missing=entry.get("missing") is True,
        operands=_operands(entry.get("operands", [])),
        culprit=culprit[-1] if culprit else None,
        column=column,
        accepts=str(entry.get("accepts", ""))[:500],
        suggestion=str(entry.get("suggestion", ""))[:100],
        lacks=str(entry.get("lacks", ""))[:100],
    )


def _frames(rows: object) -> tuple[Frame, ...]:
    if not isinstance(rows, list):
        raise BadFrame("the frames of what was raised are not a list")
    frames = []
    for row in rows[-20:]:
        if not isinstance(row, list) or len(row) != 4 or type(row[1]) is not int:
            raise BadFrame("a frame of what was raised is not described as it must be")
        file, line, function, source = row
        if not 0 <= line < _LINES:
            raise BadFrame("a frame of what was raised is at a line that cannot be")
        frames.append(Frame(str(file)[:300], line, str(function)[:100], str(source)[:300]))
    return tuple(frames)


def _operands(rows: object) -> tuple[Operand, ...]:
    if not isinstance(rows, list) or not all(
        isinstance(row, list) and len(row) == 4 and type(row[3]) is int and 0 <= row[3] < _LINES
        for row in rows
    ):
        raise BadFrame("the operands of what was raised are not described as they must be")
    return tuple(
        Operand(str(name)[:60], str(words)[:200], str(made)[:200], line)
        for name, words, made, line in rows[:MAX_OPERANDS]
    )


def cell_errors_from_json(entry: object) -> tuple[Raised, ...]:
    """Reads the exceptions of a notebook's cells, and bounds their number and texts.

    Raises:
        BadFrame: if it is something else.
    """
    if not isinstance(entry, list):
        raise BadFrame("what the cells raised is not a list")
    raised = [raised_from_json(row) for row in entry[:MAX_CELL_ERRORS]]
    return tuple(one for one in raised if one is not None)


def uses_as_json(uses: Sequence[Use]) -> list[Any]:
    """Uses as a JSON array."""
    return [[use.name, use.file, use.line] for use in uses]


def uses_from_json(entry: object) -> tuple[Use, ...]:
    """Reads the uses that `uses_as_json` wrote, and bounds their number and texts.

    Raises:
        BadFrame: if it is something else.
    """
    if not isinstance(entry, list):
        raise BadFrame("the uses are not a list")
    uses = []
    for row in entry[:MAX_USES]:
        if not isinstance(row, list) or len(row) != 3 or type(row[2]) is not int:
            raise BadFrame("a use is not described as it must be")
        name, file, line = row
        if not 0 <= line < _LINES:
            raise BadFrame("a use is at a line that cannot be")
        uses.append(Use(str(name)[:300], str(file)[:300], line))
    return tuple(uses)
