"""The assertions that tests make; their messages are what a student reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch

from grader.core.evidence import LARGEST_PICTURE, Picture, in_six_digits
from grader.core.text import ordinal
from grader.core.verdict import Status
from grader.core.wire.records import Line
from grader.core.wire.values import Elsewhere, Value, parts
from grader.testing.comparison import Comparison, Tolerance, compare, single_number, tolerance_for
from grader.testing.differences import (
    RESULT,
    difference_in_words,
    precision_in_words,
    worst_in_a_table,
)
from grader.testing.handles.handle import Reference, Student
from grader.testing.handles.objects import script_of
from grader.testing.outcome import (
    StudentFault,
    axes_of,
    examining,
    is_collected,
    known_of,
    note,
    observed,
    place_in_words,
    precision_of,
    shows_expected,
    where_of,
)
from grader.testing.structure import differences

_MORE_OPERATIONS = 1.5
# Messages of torch's meta device where a GPU would succeed: a GPU has values and generators.
_TAKES_VALUES = re.compile(
    r"called on meta tensors|copy out of meta tensor|not an accelerator|or Meta kernel registered"
    r"|register_meta function for|repeat_interleave a meta tensor|input tensors on meta device"
)
_LARGER_TENSORS = 4
# The types that can be compared with a tensor number by number.
_NUMBERS = (torch.Tensor, numpy.ndarray, int, float, list, tuple)


class WrongForm(AssertionError):
    """A result has the wrong dtype; the text names the line that made it so, if it is known.

    The text may reveal a test's inputs: show it only for inputs that students have.
    """

    def __init__(self, said: str, line: Line | None) -> None:
        super().__init__(said)
        self.where = where_of(line)


@dataclass(eq=False, repr=False)
class WrongNumbers(AssertionError):
    """An answer's numbers differ from the expected ones; its text, made on request, says how.

    `shows_expected()` decides when it is raised whether the text may hold expected values.
    """

    what: str
    comparison: Comparison
    axes: Sequence[str]
    dtype: torch.dtype = torch.float32
    _shows_expected: bool = field(init=False, default_factory=shows_expected)

    def __str__(self) -> str:
        """Returns the sentences, and a table of the worst numbers."""
        return "\n".join([self.words, *worst_in_a_table(self.comparison, self._shows_expected)])

    @property
    def words(self) -> str:
        """Returns how many numbers are wrong, by how much and where; a sentence on each line."""
        words = difference_in_words(self.what, self.comparison, self.axes)
        return "\n".join([*words, *precision_in_words(self.comparison, self.dtype)])

    def pictures(self, test: str) -> Iterator[Picture]:
        """Yields a picture of expected and actual values, unless they are too many to look at."""
        expected, got = self.comparison.want, self.comparison.got
        if 0 < expected.numel() <= LARGEST_PICTURE:
            yield Picture(
                test,
                self.what,
                tuple(self.axes),
                tuple(expected.shape),
                in_six_digits(expected.flatten().tolist()),
                in_six_digits(got.flatten().tolist()),
            )


def assert_matches(
    actual: Any, expected: Any, tolerance: Tolerance | None = None, what: str | None = None
) -> None:
    """Asserts that an answer equals what was expected, within a tolerance fit for its dtype.

    In a nested value, the message names the first difference by key and index. Messages call the
    answer `what`: by default "the result". In a list of several answers they count: "the 2nd
    compared value".
    """
    __tracebackhide__ = True
    with examining():
        several = not what and is_collected(actual) and type(actual) is type(expected)
        if not several or len(actual) != len(expected):
            _compare(actual, expected, tolerance, what or RESULT)
            return
        for number, (own, wanted) in enumerate(zip(actual, expected, strict=True)):
            _compare(own, wanted, tolerance, f"the {ordinal(number)} compared value")


def _compare(actual: Any, expected: Any, tolerance: Tolerance | None, what: str) -> None:
    __tracebackhide__ = True
    if isinstance(actual, numpy.ndarray):
        if isinstance(expected, int | float | list | tuple):
            expected = numpy.asarray(expected)
    elif isinstance(actual, torch.Tensor) and isinstance(expected, _NUMBERS):
        expected = torch.as_tensor(expected)
    else:
        expected = single_number(expected)
    for part in differences(actual, expected):
        name = what
        if part.place.startswith((".", "[")):
            whole = what.removeprefix("the ") if what == RESULT else what
            name = f"{part.place} of {what}" if " " in whole else f"{whole}{part.place}"
        if part.tensors is None:
            wanted_words = part.expected if shows_expected() else "something else was expected"
            shown = f": {wanted_words}" if part.expected else ""
            raise AssertionError(f"{name} {part.words}{shown}")
        got, wanted = part.tensors
        comparison = compare(got, wanted, tolerance or tolerance_for(precision_of(got)))
        observed().measurements.append(comparison.measurement)
        if not comparison.ok:
            raise WrongNumbers(name, comparison, axes_of(got), got.dtype)


def assert_gradients_match(
    student: Student,
    reference: Reference,
    cotangent: torch.Tensor,
    wrt: tuple[str, ...],
    tolerance: Tolerance | None = None,
    part: int | str | None = None,
    **inputs: Value,
) -> None:
    """Asserts that gradients with respect to the named inputs are those of the reference.

    If the answer is a tuple, list or dict, `part` is the index or key of the tensor that
    `cotangent` belongs to.
    """
    __tracebackhide__ = True
    _require_function(student, inputs)
    expected = reference.gradients(cotangent, wrt=wrt, part=part, **inputs)
    actual = student.gradients(cotangent, wrt=wrt, part=part, **inputs)
    for name in wrt:
        assert_matches(actual[name], expected[name], tolerance, f"the gradient of {name}")


def _require_function(student: object, *given: object) -> None:
    if not isinstance(student, Student):
        raise TypeError(
            "this assertion takes the fixture `student` of a run_ adapter, and no object or class. "
            "Write a run_ adapter that makes the object and calls it"
        )
    if script_of(*given) is not None:
        raise TypeError(
            "this assertion takes no module or other thing that a test made beside a submission: "
            "write a run_ adapter that makes it from tensors"
        )


def assert_inputs_unchanged(student: Student, *args: Value, **kwargs: Value) -> None:
    """Asserts that a call leaves its inputs as they were."""
    __tracebackhide__ = True
    _require_function(student, args, kwargs)
    arguments = student.adapter.bind(args, kwargs)
    answer = student.ask(arguments, watch_inputs=True)
    changed = ", ".join(answer.changed_inputs)
    assert not changed, f"{student.adapter.name} changes its input {changed}"


def _hold(kind: type, values: Any) -> bool:
    return any(isinstance(one, kind) for one in parts(values))


def assert_same_answer_twice(student: Student, *args: Value, **kwargs: Value) -> None:
    """Asserts that two equal calls have equal results."""
    __tracebackhide__ = True
    first, second = student(*args, **kwargs), student(*args, **kwargs)
    assert _equal(first, second), (
        f"{student.adapter.name} returns something else when it is called again with the same "
        "inputs and seed: is a tensor uninitialised (torch.empty), or something kept "
        "between calls?"
    )


def assert_keeps_dtype(actual: torch.Tensor, dtype: torch.dtype) -> None:
    """Asserts that a result has the dtype of the inputs."""
    __tracebackhide__ = True
    wanted, got = (str(kind).removeprefix("torch.") for kind in (dtype, actual.dtype))
    if got == wanted:
        return
    known = known_of(actual)
    line = known.trace() if known is not None else None
    told = [f"with {wanted} inputs the result must be {wanted}, not {got}"]
    if line is not None:
        source = place_in_words(line)
        told.append(f"It is {got} from this line on, and nothing casts it back: {source}")
    raise WrongForm("\n".join(told), line)


def assert_runs_on_another_device(student: Student, *args: Value, **kwargs: Value) -> None:
    """Asserts that a call stays on the device of its inputs, which is not the CPU.

    torch's meta device stands in for a GPU: it computes shapes, and refuses tensors of other
    devices. It has no values: code that reads one (`bool(x.any())`, `x[x > 0]`) passes untried.
    Code that forgets `device=`, but works once meta is the default device, only gets a note. Its
    first call may raise, copy values, or return a tensor on the CPU. Choose sizes that no other
    test has: a mask or table that a submission kept from an earlier call lies on the CPU.
    """
    __tracebackhide__ = True
    _require_function(student, args, kwargs)
    arguments = student.adapter.bind(args, kwargs)
    forgotten: StudentFault | None = None
    takes_values = False
    try:
        value = _elsewhere(student, arguments, default_device=False)
        if value is not None and value.device == "meta":
            return
        takes_values = value is None
    except StudentFault as fault:
        forgotten = fault
    # A call that also fails on the CPU does not fail because of the device.
    student.ask(arguments)
    try:
        value = _elsewhere(student, arguments, default_device=True)
    except StudentFault:
        if takes_values:
            return
        raise
    if value is None or (takes_values and value.device != "meta"):
        return
    assert value.device == "meta", (
        f"{student.adapter.name} returns its result on the {value.device}; it must lie on the "
        "device of its inputs"
    )
    if forgotten is not None or _hold(torch.Tensor, arguments):
        where = forgotten.where if forgotten is not None else None
        place = f" ({where.file}:{where.line})" if where else ""
        note(f"This may fail on a GPU: pass the device of an input when you create tensors{place}.")


def assert_work_does_not_grow(
    student: Student,
    reference: Reference,
    small: Mapping[str, Value],
    large: Mapping[str, Value],
) -> None:
    """Asserts that longer inputs need no more torch operations, nor needlessly large tensors.

    A tensor that is as large for the small input, like a fixed table or mask, is allowed. Lines of
    Python count too if the call computes outside of torch, in numpy for example.
    """
    __tracebackhide__ = True
    _require_function(student, small, large)
    allowed = reference.count_work(**large).largest * _LARGER_TENSORS
    few, many = student.count_work(**small), student.count_work(**large)
    assert many.operations <= few.operations * _MORE_OPERATIONS, (
        f"{student.adapter.name} makes {many.operations} torch operations for a larger input, and "
        f"{few.operations} for a small one\n"
        "A Python loop over an axis can often be one operation on the whole tensor."
    )
    assert many.largest <= max(allowed, few.largest), (
        f"{student.adapter.name} makes a tensor of {many.largest} elements on the way, "
        f"where {allowed // _LARGER_TENSORS} are enough"
    )
    if few.elsewhere or many.elsewhere:
        _assert_lines_do_not_grow(student, small, large)


def _assert_lines_do_not_grow(
    student: Student, small: Mapping[str, Value], large: Mapping[str, Value]
) -> None:
    few, many = student.count_lines(**small), student.count_lines(**large)
    assert many <= few * _MORE_OPERATIONS, (
        f"{student.adapter.name} executes {many} lines of Python for a larger input, and {few} for "
        "a small one\n"
        "It computes outside of torch, in numpy or in lists. A Python loop over an axis can often "
        "be one operation on the whole tensor."
    )


def _elsewhere(
    student: Student, arguments: Mapping[str, Value], default_device: bool
) -> Elsewhere | None:
    """Returns the result of a call with inputs on the meta device; None if it takes their values.

    Raises:
        StudentFault: if the call has no such result.
    """
    observe = {"device": "meta", "default_device": default_device}
    answer = student.attempt(arguments, **observe)
    if answer.raised is not None:
        if _TAKES_VALUES.search(answer.raised.message):
            return None
        fault = student.failure(answer.raised, arguments, **observe)
        if fault.status is not Status.ERROR:
            raise fault
        raise StudentFault(
            Status.FAILED,
            f"with inputs on torch's meta device, a stand-in for a GPU: {fault.message}",
            fault.where,
        )
    value = student.result(answer, arguments)
    if isinstance(value, Elsewhere):
        return value
    if not isinstance(value, torch.Tensor):
        raise StudentFault(Status.FAILED, f"{student.adapter.name} must return a tensor")
    return Elsewhere(str(value.dtype), tuple(value.shape), "cpu")


def _equal(one: Any, other: Any) -> bool:
    """Returns whether two results are equal; the order of a dict's keys does not count."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and _alike(one, other)
    one, other = single_number(one), single_number(other)
    found = differences(one, other)
    return not any(part.tensors is None or not _alike(*part.tensors) for part in found)


def _alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    same = (one == other) | (one.isnan() & other.isnan())
    return one.dtype == other.dtype and bool(same.all())
