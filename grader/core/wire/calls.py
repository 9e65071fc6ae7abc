"""Calls and answers, which judge and worker exchange.

A script (see `scripts.py`) is the steps before or after a call. It grows by a step or two at a
time, so a call that extends the previous one crosses as its new steps alone. Both ends keep the
last call. A frame depends on the earlier ones of its channel and on nothing else: a new worker gets
the whole script.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import torch

from grader.core.wire.frames import ANSWER, RECORDED, Received, decode, encode
from grader.core.wire.records import (
    KEPT_HERE,
    AtMost,
    BadFrame,
    Below,
    File,
    Line,
    LineNumber,
    Name,
    OnOneLine,
    Source,
    reader,
    written,
)
from grader.core.wire.scripts import Doing, Step, steps_as_value, steps_in
from grader.core.wire.values import Value

MAX_MESSAGE = 4000  # characters of an exception
MAX_USES = 100
MAX_CELL_ERRORS = 20
MAX_OPERANDS = 8
MAX_ADAPTERS = 1000
MAX_IMPORTS = 40
# Further lines are not counted.
MOST_LINES = 5_000_000
MAX_RECORDS = 2000
# The most numbers in one record, and in all records of a call.
MAX_NUMBERS = 1 << 16
MAX_TOGETHER = 1 << 20
MAX_DEPTH = 12


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an adapter, and what to observe while it runs.

    `wrt` names the arguments whose vector-Jacobian products with `cotangent` are returned. If
    `part` is given, the products are those of one part of a tuple, list or dict. `device` is where
    the arguments are put, `default_device` whether new tensors go there too.

    The steps `before` run first. The steps `then` run last, and the answer is that of the last
    one. Without an `adapter` there are steps alone. `trace` asks for the line of the submission
    that gave the result its type or dtype. With `stays`, an answer of the submission's own class
    stays in the worker, even if the class inherits from a tuple, list or dict.

    `frame` is the encoded call, if it was encoded before. `exercise` is the adapter that the test
    is about, if it calls another one; it does not cross.
    """

    adapter: str
    arguments: Mapping[str, Value]
    seed: int = 0
    wrt: tuple[str, ...] = ()
    cotangent: torch.Tensor | None = None
    part: int | str | None = None
    device: str = "cpu"
    default_device: bool = False
    count_work: bool = False
    count_lines: bool = False
    watch_inputs: bool = False
    record: bool = False
    before: tuple[Step, ...] = ()
    then: tuple[Step, ...] = ()
    trace: bool = False
    stays: bool = False
    frame: bytes | None = field(default=None, compare=False, repr=False)
    exercise: str = field(default="", compare=False, repr=False)

    @property
    def is_plain(self) -> bool:
        """Returns whether the call has no observation but a recording, on the default device."""
        observes = self.wrt or self.counts or self.watch_inputs or self.trace
        return not (observes or self.default_device)

    @property
    def counts(self) -> bool:
        """Returns whether the worker counts the work of the call."""
        return self.count_work or self.count_lines

    @property
    def is_script(self) -> bool:
        """Returns whether the call has steps before or after it."""
        return bool(self.before or self.then)

    @property
    def steps(self) -> Sequence[Step]:
        """Returns all steps of the script, with the call of the adapter among them."""
        asked = [Step(0, Doing.ASK, self.adapter, (), self.arguments)] if self.adapter else []
        return [*self.before, *asked, *self.then]

    @property
    def last(self) -> Step | None:
        """Returns the step that gives the answer; None if that is the call itself."""
        if self.then:
            return self.then[-1]
        return self.before[-1] if self.before and not self.adapter else None

    @property
    def asks_for_an_item(self) -> bool:
        """Returns whether the answer is the next item of an iterator."""
        return self.last is not None and self.last.doing is Doing.NEXT


# The fields that a frame holds only if they differ from those of a plain call.
_ASKED = (
    *("wrt", "part", "device", "default_device", "count_work", "count_lines"),
    *("watch_inputs", "record", "trace", "stays"),
)
_PLAIN_CALL = Call("", {})
# No parameter of an adapter has these names.
_COTANGENT, _BEFORE, _THEN = "", "before.", "then."
_SAME = "same"


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of the submission that an exception passed through."""

    file: File
    line: LineNumber
    function: Name
    source: Source


@dataclass(frozen=True, slots=True)
class Operand:
    """A name in the expression that raised, and what it stood for: `Q`, `float32[2, 5, 8]`."""

    name: Annotated[str, OnOneLine(60)]
    words: Annotated[str, OnOneLine(200)]


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception, as text. `frames` are the submission's own, innermost last.

    The innermost frame gives the `operands` of the expression that raised. If the call's arguments
    do not fit the function, the signature that the function `accepts` is there.
    `suggestion` is a name that may have been meant, and `lacks` a package that is not installed.
    The judge adds the output `printed` just before. Where a name is missing, it adds the code that
    was `not_run` and may have defined it.
    """

    kind: Name
    message: Annotated[str, AtMost(MAX_MESSAGE)]
    frames: Annotated[tuple[Frame, ...], AtMost(20, last=True)] = ()
    missing: bool = False
    operands: Annotated[tuple[Operand, ...], AtMost(MAX_OPERANDS)] = ()
    accepts: Annotated[str, OnOneLine(500)] = ""
    suggestion: Name = ""
    lacks: Name = ""
    printed: str = field(default="", metadata=KEPT_HERE)
    not_run: str = field(default="", metadata=KEPT_HERE)


@dataclass(frozen=True, slots=True)
class Work:
    """How many torch operations a call made, and the elements of the largest tensor among them.

    Or how many `lines` of Python it executed. Only what a call asks for is counted. `elsewhere` is
    whether the call also computed where torch operations are not counted: in numpy, say.
    """

    operations: Annotated[int, Below(1 << 62)] = 0
    largest: Annotated[int, Below(1 << 62)] = 0
    lines: Annotated[int, Below(1 << 62)] = 0
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """A line of the submission that uses something which the assignment forbids."""

    name: Annotated[str, OnOneLine(300)]
    file: File
    line: LineNumber


Uses = Annotated[tuple[Use, ...], AtMost(MAX_USES)]
_LONGEST_IMPORT = 100
Texts = Annotated[tuple[Annotated[str, OnOneLine(_LONGEST_IMPORT)], ...], AtMost(MAX_IMPORTS)]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of importing a submission, as its worker tells it.

    `problem` ended the import, and `cell_errors` ended cells of a notebook. `uses` are uses of
    forbidden functions. `absent` are packages that are not installed, and `not_run` commands,
    magics and cells that may define something.
    """

    adapters: Annotated[tuple[Name, ...], AtMost(MAX_ADAPTERS)]
    problem: Raised | None
    cell_errors: Annotated[tuple[Raised, ...], AtMost(MAX_CELL_ERRORS)]
    uses: Uses
    absent: Texts
    not_run: Texts


@dataclass(frozen=True, slots=True)
class Record:
    """The result of a torch operation, and the submission's lines behind it, innermost last."""

    value: torch.Tensor
    stack: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a call: a value or an exception, and the observations.

    `origin` is the line of the submission that a traced call found.
    Equal digests mean equal answers; `size` is the approximate number of bytes. The receiver may
    set both.
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

    def opened(self) -> Answer:
        """Returns this answer, as a `SealedAnswer` returns the one that it holds."""
        return self


@dataclass(frozen=True, slots=True)
class SealedAnswer:
    """An answer with a familiar digest, which is not decoded until it is needed."""

    frame: Received
    digest: bytes

    @property
    def size(self) -> int:
        """Returns the approximate number of bytes of the answer."""
        return self.frame.size

    def opened(self) -> Answer:
        """Returns the answer; its frame is equal to one that was decoded before."""
        return decode_answer(self.frame)


Reply = Answer | SealedAnswer


def encode_call(call: Call, known: int = 0) -> bytes:
    """Returns the frame that asks a worker for a call of which it knows `known` steps."""
    if call.frame is not None and not known:
        return call.frame
    return encode(*laid_out(call, known))


def laid_out(call: Call, known: int = 0) -> tuple[dict[str, Any], dict[str, Value]]:
    """Returns the header and the values of a call, which `call_in` reads."""
    header: dict[str, Any] = {"adapter": call.adapter, "seed": call.seed}
    if known:
        header["known"] = known
    asked = {name: getattr(call, name) for name in _ASKED}
    header |= {name: own for name, own in asked.items() if own != getattr(_PLAIN_CALL, name)}
    values, same = _distinct(call.arguments) if not call.wrt else (dict(call.arguments), {})
    if same:
        header[_SAME] = same
    if call.cotangent is not None:
        values[_COTANGENT] = call.cotangent
    if call.before:
        values[_BEFORE] = steps_as_value(call.before)
    if call.then:
        values[_THEN] = steps_as_value(call.then)
    return header, values


def _distinct(arguments: Mapping[str, Value]) -> tuple[dict[str, Value], dict[str, str]]:
    """Returns the arguments without repeated tensors, and the other name of each of those.

    A tensor may be the query, the key and the value of a call. It is one object in the worker too,
    because the adapter may change it, or compare its arguments with `is`.
    """
    first: dict[int, str] = {}
    names = {
        name: first.setdefault(id(value), name) if isinstance(value, torch.Tensor) else name
        for name, value in arguments.items()
    }
    same = {name: one for name, one in names.items() if one != name}
    return {name: arguments[name] for name in names if name not in same}, same


def call_in(header: dict[str, Any], values: dict[str, Value]) -> Call:
    """Returns the call in a header and values that the judge sent."""
    cotangent = values.pop(_COTANGENT, None)
    if "wrt" in header:
        header["wrt"] = tuple(header["wrt"])
    before, then = steps_in(values.pop(_BEFORE, ())), steps_in(values.pop(_THEN, ()))
    repeated = {name: values[one] for name, one in header.pop(_SAME, {}).items()}
    return Call(
        arguments=values | repeated,
        cotangent=cotangent if isinstance(cotangent, torch.Tensor) else None,
        before=before,
        then=then,
        **header,
    )


def encode_answer(answer: Answer) -> bytes:
    """Returns the frame in which a worker answers a call."""
    values: dict[str, Value] = {"value": answer.value}
    values |= {f"{_GRADIENT}{name}": gradient for name, gradient in answer.gradients.items()}
    header = {name: written(own) for name in _OBSERVED if (own := getattr(answer, name))}
    if answer.records:
        values |= values_of(answer.records)
        header["records"] = records_as_json(answer.records)
    return encode(header, values, RECORDED if answer.records else ANSWER)


def decode_answer(frame: Received) -> Answer:
    """Returns the answer in a frame that a worker sent; its digest is that of the frame.

    Raises:
        BadFrame: if it is not an answer.
    """
    header, values = decode(frame)
    return Answer(
        value=values.get("value"),
        gradients={
            name.removeprefix(_GRADIENT): value
            for name, value in values.items()
            if name.startswith(_GRADIENT) and isinstance(value, torch.Tensor)
        },
        records=records_from_json(header.get("records"), values),
        digest=frame.digest,
        size=frame.size,
        **{name: read(header[name]) for name, read in _OBSERVED.items() if name in header},
    )


def records_as_json(records: Sequence[Record]) -> dict[str, Any]:
    """Returns the lines of records as a JSON object; `values_of` returns their tensors."""
    stacks: dict[tuple[Line, ...], int] = {}
    places = [stacks.setdefault(record.stack, len(stacks)) for record in records]
    return {"stacks": written([*stacks]), "places": places}


def values_of(records: Sequence[Record]) -> dict[str, Value]:
    """Returns the tensors of records, by the names under which they cross."""
    return {f"{_RECORD}{number}": record.value for number, record in enumerate(records)}


def records_from_json(entry: object, values: Mapping[str, Value]) -> tuple[Record, ...]:
    """Returns the records that `records_as_json` and `values_of` wrote, their texts bounded.

    Raises:
        BadFrame: if the entry is anything else.
    """
    if entry is None:
        return ()
    if not isinstance(entry, dict):
        raise BadFrame("the records are not described by an object")
    stacks = _STACKS(entry.get("stacks"))
    records, left = [], MAX_TOGETHER
    for number, place in enumerate(_PLACES(entry.get("places"))):
        value = values.get(f"{_RECORD}{number}")
        if not isinstance(value, torch.Tensor):
            raise BadFrame("a record is not a tensor")
        left -= value.numel()
        if value.numel() > MAX_NUMBERS or left < 0:
            raise BadFrame("the records hold more numbers than they may")
        if place >= len(stacks):
            raise BadFrame("a record is at a place that is not there")
        records.append(Record(value, stacks[place]))
    return tuple(records)


_STACKS = reader(tuple[Annotated[tuple[Line, ...], AtMost(MAX_DEPTH, last=True)], ...])
_PLACES = reader(Annotated[tuple[Annotated[int, Below(1 << 31)], ...], AtMost(MAX_RECORDS)])


_GRADIENT, _RECORD = "gradient.", "record."
# The observations that a header may hold, and how each is read.
_OBSERVED = {
    "raised": reader(Raised | None),
    "changed_inputs": reader(Annotated[tuple[Name, ...], AtMost(100)]),
    "work": reader(Work | None),
    "uses": reader(Uses),
    "origin": reader(Line | None),
}


class CallEncoder:
    """Encodes calls for one channel; a call that extends the last one crosses as its new steps."""

    def __init__(self) -> None:
        self._last: Call | None = None

    def frame(self, call: Call) -> bytes:
        """Returns the frame of the next call."""
        last, self._last = self._last, None
        if not call.is_plain or call.record:
            return encode_call(call)  # a worker takes all of its steps again, on new arguments
        known = 0 if last is None else _known(last, call)
        if known:
            rest = replace(call, arguments={}, before=(), then=call.then[known:])
            frame = encode_call(rest, known)
        else:
            frame = encode_call(call)
        self._last = call
        return frame


class CallDecoder:
    """Decodes the frames that `CallEncoder` made, in their order."""

    def __init__(self) -> None:
        self._last = _PLAIN_CALL

    def call(self, frame: Received) -> Call:
        """Returns the next call."""
        return self.call_in(*decode(frame, trusted=True))

    def call_in(self, header: dict[str, object], values: dict[str, Value]) -> Call:
        """Returns the next call, from the header and the values of its frame."""
        known = header.pop("known", 0)
        assert isinstance(known, int)
        call, last = call_in(header, values), self._last
        if known:
            then = (*last.then[:known], *call.then)
            call = replace(call, arguments=last.arguments, before=last.before, then=then)
        self._last = call
        return call


def _known(last: Call, call: Call) -> int:
    """Returns how many steps of `call.then` the last call had too; 0 if its head differs."""
    heads = [(one.adapter, one.seed, one.device) for one in (last, call)]
    is_same = heads[0] == heads[1] and last.arguments is call.arguments
    known = len(last.then)
    if not is_same or known > len(call.then) or not _are_the_same(last.before, call.before):
        return 0
    return known if _are_the_same(last.then, call.then[:known]) else 0


def _are_the_same(some: Sequence[Step], others: Sequence[Step]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))
