"""The outcome of a test on a submission, the answers that it observed, and the words for both."""

from __future__ import annotations

import builtins
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

import torch

from grader.core.text import enumerated, plain
from grader.core.verdict import Aspect, Measurement, Status, Where
from grader.core.wire.calls import Call, Raised, Use
from grader.core.wire.records import Line
from grader.core.wire.values import Value
from grader.testing.contract import Adapter, numbered_axes


@dataclass(frozen=True, slots=True)
class Question:
    """A test's plain call, the `number`-th, whose right answer may be known."""

    test: str
    number: int
    aspect: Aspect
    call: Call


@dataclass(frozen=True, slots=True)
class Observation(Question):
    """A submission's answer to one plain call: the `number`-th of the test `test`.

    A `refused` answer had the wrong type or shape; the test did not see it. Comparisons are
    remembered, because another submission may give the same answer.
    """

    value: torch.Tensor
    refused: bool = False
    _compared: dict[tuple[int, float], tuple[Prediction, bool]] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )

    def is_as(self, prediction: Prediction, leniency: float) -> bool:
        """Returns whether the answer is the predicted one within `leniency` times the tolerance."""
        key = (id(prediction), leniency)
        if key not in self._compared:
            # Keeping the prediction keeps its `id` from being reused.
            self._compared[key] = (prediction, prediction.agrees(self, leniency))
        return self._compared[key][1]


class Prediction(Protocol):
    """The answer of a known function to a call, in the form in which it is known."""

    @property
    def tells(self) -> bool:
        """Returns whether agreement with it is evidence."""

    def agrees(self, observation: Observation, leniency: float) -> bool:
        """Returns whether a submission's answer is this one, in `leniency` times the tolerance."""

    def is_like(self, other: Prediction, observation: Observation, leniency: float) -> bool:
        """Returns whether another prediction for the same call is this one, as in `agrees`."""


class StudentFault(Exception):
    """The submission's fault that ends a test.

    It is `settled` if the line to fix is known, so that no search for it is needed. Where it takes
    the place of an answer, it has neither a digest nor a size.
    """

    digest = None
    size = 0

    def __init__(
        self, status: Status, message: str, where: Where | None = None, settled: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.where = where
        self.settled = settled

    @property
    def headline(self) -> str:
        """Returns the first line of the message, which is whole in itself."""
        return self.message.partition("\n")[0]

    def again(self) -> StudentFault:
        """Returns a copy of the fault to raise: an exception object collects its tracebacks."""
        return StudentFault(self.status, self.message, self.where, self.settled)


Trace = Callable[[], Line | None]


@dataclass(frozen=True, slots=True)
class Returned:
    """A tensor that the submission returned, the names of its axes, and the dtype of the inputs.

    Without inputs of floating point, that dtype is torch's default. `trace` finds the line that
    produced the tensor, if possible.
    """

    tensor: torch.Tensor
    axes: tuple[str, ...]
    input_dtype: torch.dtype
    trace: Trace


@dataclass(slots=True)
class Observations:
    """The measurements and notes of a running test, beside its outcome.

    `shows_expected` is whether messages may hold expected values. `answers` are the submission's
    answers, each as a whole, by `id`; `returned` are the answers' tensors. `seconds` is the
    processor time that examining its answers took, and `fault` the first fault that a handle raised
    in the test.
    """

    shows_expected: bool = True
    seconds: float = 0.0
    measurements: list[Measurement] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    answers: dict[int, object] = field(default_factory=dict)
    returned: list[Returned] = field(default_factory=list)
    fault: StudentFault | None = None

    @property
    def worst(self) -> Measurement | None:
        """Returns the measurement with the largest error relative to its tolerance."""
        return max(self.measurements, key=lambda m: m.error_over_tolerance, default=None)


_current: ContextVar[Observations | None] = ContextVar("observations", default=None)


@contextmanager
def observing(shows_expected: bool = True) -> Iterator[Observations]:
    """Collects the measurements and notes of the assertions in this context."""
    observations = Observations(shows_expected)
    token = _current.set(observations)
    try:
        yield observations
    finally:
        _current.reset(token)


@contextmanager
def running_a_test(shows_expected: bool = True) -> Iterator[Observations]:
    """Collects the observations of a whole test, which passes only if it had all its answers.

    Raises:
        StudentFault: if the test swallows one, as `pytest.raises(Exception)` does.
    """
    with observing(shows_expected) as observations:
        yield observations
    if observations.fault is not None:
        raise observations.fault


def observed() -> Observations:
    """Returns the observations of the running test; outside of tests, some that nobody reads."""
    return _current.get() or Observations()


@contextmanager
def examining() -> Iterator[None]:
    """Counts processor time for examining an answer, which is charged to the submission."""
    observations, before = observed(), time.thread_time()
    try:
        yield
    finally:
        observations.seconds += time.thread_time() - before


@contextmanager
def never_swallowed() -> Iterator[None]:
    """Notes a fault, for tests that swallow it (`running_a_test`)."""
    try:
        yield
    except StudentFault as fault:
        observed().fault = observed().fault or fault
        raise


def note(text: str) -> None:
    """Adds a remark, which costs no points, to the running test, unless it has it already."""
    if text not in observed().notes:
        observed().notes.append(text)


def place_in_words(line: Line) -> str:
    """Returns a line of the submission: `attention.py:12: return weights`."""
    return plain(f"{line.file}:{line.line}: {line.source}")


def where_of(line: Line | None) -> Where | None:
    """Returns a line of the submission as verdicts name it."""
    return None if line is None else Where(plain(line.file), line.line)


def is_collected(value: object) -> bool:
    """Returns whether a value is a list or tuple in which the test collected several answers."""
    answers = observed().answers
    if not isinstance(value, list | tuple) or id(value) in answers:
        return False
    return any(id(part) in answers for part in value)


def axes_of(tensor: torch.Tensor) -> tuple[str, ...]:
    """Returns the names of a tensor's axes: their numbers, where no other names are known."""
    known = known_of(tensor)
    return numbered_axes(tensor.ndim) if known is None else known.axes


def precision_of(tensor: torch.Tensor) -> torch.dtype:
    """Returns the finer of a tensor's own dtype and that of the inputs.

    A test may compare a part of an answer, which is another tensor of the same dtype. The latest
    answer of that dtype then tells the inputs' dtype.
    """
    if not tensor.is_floating_point():
        return tensor.dtype
    alike = (one for one in reversed(observed().returned) if one.tensor.dtype is tensor.dtype)
    known = known_of(tensor) or next(alike, None)
    if known is None:
        return tensor.dtype
    return max(tensor.dtype, known.input_dtype, key=lambda dtype: -torch.finfo(dtype).eps)


def known_of(tensor: torch.Tensor) -> Returned | None:
    """Returns the record of a tensor, if the submission returned this tensor."""
    # Tests mostly ask about the latest of their answers, of which there may be many.
    return next((one for one in reversed(observed().returned) if one.tensor is tensor), None)


def shows_expected() -> bool:
    """Returns whether the running test's messages may hold expected values."""
    return observed().shows_expected


_NAMES = 5
_LINES = 4


def uses_in_words(uses: Iterable[Use]) -> str:
    """Returns the names with their files and lines: "torch.nn.Linear (model.py:3, model.py:7)"."""
    places: dict[str, dict[str, list[int]]] = {}
    for use in sorted(set(uses), key=lambda use: (use.file, use.line)):
        places.setdefault(use.name, {}).setdefault(use.file, []).append(use.line)
    told = []
    for name, files in sorted(places.items())[:_NAMES]:
        lines = [_listed(_places(file, own)) for file, own in files.items()]
        told.append(f"{name} ({_listed(lines)})")
    more = [f"{len(places) - _NAMES} more"] if len(places) > _NAMES else []
    return enumerated([*told, *more])


def _places(file: str, lines: Iterable[int]) -> Sequence[str]:
    """Returns places as editors open them; a notebook's code has other lines than its file."""
    return [file] if file.endswith(".ipynb") else [f"{file}:{line}" for line in lines]


def _listed(places: Sequence[str]) -> str:
    return ", ".join([*places[:_LINES], *(["…"] if len(places) > _LINES else [])])


_LONGEST = 300


class Wording(Protocol):
    """The words for a submission's faults; they never change the outcome of a test.

    `names_lines` is whether calls are repeated to find the line that produced a result.
    """

    names_lines: bool

    def raised(self, raised: Raised, adapter: str, call: Call | None = None, /) -> StudentFault:
        """Returns the fault for an exception in `call`, or in the import if `call` is None."""

    def refused(self, adapter: Adapter, value: Value, call: Call, trace: Trace, /) -> StudentFault:
        """Returns the fault for a value that does not fit the contract.

        `trace` finds the line that produced it.
        """

    def printed(self, text: str, /) -> Sequence[str]:
        """Returns lines on what the submission printed before its process was lost."""


class Plainly:
    """The `Wording` for verdicts, which repeats nothing that a submission says in a call.

    Exceptions, values and output of a call may hold the inputs on which a submission is graded. A
    submission that is being imported knows none of them.
    """

    names_lines = False

    def raised(self, raised: Raised, adapter: str, call: Call | None = None, /) -> StudentFault:
        """Returns the fault; of an exception in a call it names the type only, if built in."""
        if raised.missing:
            said = f"{adapter} is not implemented yet"
            return StudentFault(Status.MISSING, _with_not_run(said, raised))
        if call is None:
            return StudentFault(Status.ERROR, _with_not_run(_import_in_words(raised), raised))
        known = isinstance(vars(builtins).get(raised.kind), type)
        what = raised.kind if known else "an exception"
        return StudentFault(Status.ERROR, f"{adapter} raised {what}")

    def refused(self, adapter: Adapter, _value: Value, _call: Call, _trace: Trace) -> StudentFault:
        """Returns the fault, without the value."""
        said = f"{adapter.name} returned something of another type or shape than it must"
        return StudentFault(Status.FAILED, said)

    def printed(self, _text: str) -> Sequence[str]:
        """Returns nothing."""
        return ()


def _with_not_run(said: str, raised: Raised) -> str:
    return f"{said}\n{plain(raised.not_run)}" if raised.not_run else said


def _import_in_words(raised: Raised) -> str:
    message = " ".join(raised.message.split())[:_LONGEST]
    said = plain(f"{raised.kind}: {message}" if message else raised.kind)
    last = raised.frames[-1] if raised.frames else None
    return f"{said} ({plain(last.file)}:{last.line})" if last else said
