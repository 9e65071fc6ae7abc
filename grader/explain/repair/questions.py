"""Calls that an edit is checked with: wrong answers that it must fix, right ones to keep."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

import numpy
import torch

from grader.core.verdict import Aspect
from grader.core.wire.calls import Call
from grader.core.wire.value_rows import as_tensor, is_row
from grader.core.wire.values import Value
from grader.explain.mistakes.catalogue import Catalogue
from grader.explain.mistakes.diagnosis import is_right
from grader.explain.mistakes.prediction import Numbers
from grader.testing.outcome import Observation, Question

_ORDER = {Aspect.VALUES: 0, Aspect.GENERALITY: 1}


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """A call of an exercise, whether its answer was right, and whether it had an answer.

    The call is `provable` if right answers to it can be told from wrong ones. Its `size` is the
    count of its values and characters, plus the sizes of its integers.
    """

    exercise: str
    question: Question
    right: bool
    answered: bool = True
    provable: bool = True
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        # Counted once: a vocabulary has thousands of tokens, and calls are sorted many times.
        object.__setattr__(self, "size", _size(self.question.call))

    @property
    def rank(self) -> tuple[int, int]:
        """Returns the sorting key: plain calls come first, and smaller calls before larger."""
        return _ORDER.get(self.question.aspect, 2), self.size

    @property
    def is_plain(self) -> bool:
        """Returns whether the call tests values, in the usual or in other shapes."""
        return self.question.aspect in _ORDER


def is_answer(catalogue: Catalogue, question: Question, answer: torch.Tensor | None) -> bool:
    """Returns whether an answer has the right values, in the dtype of the inputs."""
    if answer is None or not _is_of_dtype(question, answer):
        return False
    seen = Observation(question.test, question.number, question.aspect, question.call, answer)
    right = catalogue.right(seen)
    return right is not None and seen.is_as(right, 1) and is_of_kind(catalogue, seen)


def is_of_kind(catalogue: Catalogue, seen: Observation) -> bool:
    """Returns whether an answer is boolean if and only if the right one is."""
    right = catalogue.right(seen)
    if not isinstance(right, Numbers) or right.shape is not None:
        return True
    return (right.value.dtype is torch.bool) == (seen.value.dtype is torch.bool)


def checked_calls(
    catalogue: Catalogue,
    exercise: str,
    answers: Iterable[Observation],
    raised: Iterable[Question],
    failed: Collection[str],
) -> Iterator[CheckedCall]:
    """Yields the calls of an exercise with a known right answer, and those that raised.

    Only an answer in one of the `failed` tests is wrong. A call that raised is not provable if None
    is its right answer, as for an optimizer's step: any edit that stops the exception would pass.
    """
    for one in answers:
        right = is_right(catalogue, one)
        if one.test in failed:
            right = right and is_of_kind(catalogue, one)
        if right or (right is False and one.test in failed):
            question = Question(one.test, one.number, one.aspect, one.call)
            yield CheckedCall(exercise, question, right)
    for question in raised:
        nothing = as_tensor(None)
        seen = Observation(question.test, question.number, question.aspect, question.call, nothing)
        provable = is_right(catalogue, seen) is False
        yield CheckedCall(exercise, question, right=False, answered=False, provable=provable)


def telling(questions: Iterable[CheckedCall], most: int) -> list[CheckedCall]:
    """Returns at most `most` calls, one of each kind first, plain and small calls first.

    Calls differ in kind by flags, by omitted arguments, by the axes of size 1, and by positions
    that count from 0. Broadcasting along an axis of size 1, or positions that are the default, hide
    mistakes that other calls show.
    """
    first: list[CheckedCall] = []
    others: list[CheckedCall] = []
    kinds: set[object] = set()
    for one in sorted(questions, key=lambda one: one.rank):
        kind = _kind(one)
        (others if kind in kinds else first).append(one)
        kinds.add(kind)
    return [*first, *others][:most]


def in_turn(questions: Iterable[CheckedCall], most: int) -> Iterator[CheckedCall]:
    """Yields at most `most` calls of each exercise: every exercise's first call, then the second.

    The calls of one exercise are ordered as by `telling`.
    """
    by_exercise: dict[str, list[CheckedCall]] = {}
    for one in questions:
        by_exercise.setdefault(one.exercise, []).append(one)
    for turn in itertools.zip_longest(*(telling(own, most) for own in by_exercise.values())):
        yield from (one for one in turn if one is not None)


def _size(call: Call) -> int:
    arguments = call.arguments.values()
    integers = sum(abs(value) for value in arguments if isinstance(value, int))
    steps = ((*one.positional, *one.keywords.values()) for one in (*call.before, *call.then))
    return integers + sum(map(_length, itertools.chain(arguments, *steps)))


def _length(value: Value) -> int:
    if isinstance(value, torch.Tensor | numpy.ndarray):
        return math.prod(value.shape)
    if isinstance(value, dict):
        return sum(_length(one) for pair in value.items() for one in pair)
    if isinstance(value, list | tuple):
        return sum(map(_length, value))
    return len(value) if isinstance(value, str | bytes) else 0


def _kind(one: CheckedCall) -> object:
    arguments = one.question.call.arguments
    return tuple((name, _kind_of(arguments[name])) for name in sorted(arguments))


def _kind_of(value: object) -> object:
    if isinstance(value, torch.Tensor):
        return *(size == 1 for size in value.shape), _counts(value)
    return value if isinstance(value, bool) else value is None


def _counts(value: torch.Tensor) -> bool:
    """Returns whether a tensor holds 0, 1, 2, ... along its last axis."""
    if value.is_floating_point() or value.is_complex() or not value.dim():
        return False
    in_order = torch.arange(value.shape[-1], device=value.device)
    return value.dtype != torch.bool and bool((value == in_order).all())


def _is_of_dtype(question: Question, answer: torch.Tensor) -> bool:
    """Returns whether an answer has the dtype of an input, if both are of floating point.

    The dtypes of tensors within a tuple, list or dict are not known.
    """
    asked = dtypes_of(question)
    has_dtype = answer.is_floating_point() and not is_row(answer)
    return not (asked and has_dtype) or answer.dtype in asked


def dtypes_of(question: Question) -> list[torch.dtype]:
    """Returns the dtypes of a call's inputs of floating point."""
    return [
        value.dtype
        for value in question.call.arguments.values()
        if isinstance(value, torch.Tensor) and value.is_floating_point()
    ]
