"""The decision whether one mutation is caught, equivalent or missed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import torch

from grader.authoring.mutated_solutions import Functions, Reach, References
from grader.authoring.verification import answering
from grader.core.names import CPU
from grader.core.verdict import Status
from grader.core.wire.calls import Answer, Call
from grader.core.wire.values import Value, as_tensor
from grader.explain.rewriting.edit import Edit
from grader.grading.judge.judge import Judge
from grader.testing.handles.handle import call_in_float64
from grader.testing.suite import Suite
from grader.worker.marshalling import copied, same_values
from grader.worker.performing import Living, perform

# Relative to the largest value of a tensor: the error of sums in another order, in float64.
_ROUNDING = 1e-11
# The same error in the dtype of the call, which may be as imprecise as bfloat16.
_ROUGHLY = 0.02
_MOST_PRECISE = 24

Function = Callable[..., Any]


def answers(
    function: Function, calls: Sequence[Call], root: Path, functions: Mapping[str, Function]
) -> Iterator[Answer]:
    """Yields a function's answers to calls of an adapter; it gets copies of its arguments.

    If a call continues the script of the previous call, only the new steps run. Other `functions`,
    by exercise, answer steps that call other adapters.
    """
    functions = {**functions, **{call.adapter: function for call in calls}}
    with Living(functions) as living:
        for call in calls:
            own = replace(call, arguments=copied(dict(call.arguments)), frame=None)
            yield perform(function, own, root, functions, living)


def _in_float64(call: Call) -> Call:
    cotangent = None if call.cotangent is None else call.cotangent.double()
    return replace(call_in_float64(call), cotangent=cotangent)


def _same(one: Answer, other: Answer, rounding: float) -> bool:
    """Returns whether two answers are the same within `rounding`, apart from their work."""
    # A StopIteration may be the right end of an iterator. Other exceptions are all alike.
    ends = [it.raised and it.raised.kind == StopIteration.__name__ for it in (one, other)]
    if ends != [None, None]:
        return ends[0] is ends[1]
    return (
        _alike(one.value, other.value, rounding)
        and one.gradients.keys() == other.gradients.keys()
        and all(_alike(one.gradients[n], other.gradients[n], rounding) for n in one.gradients)
        and one.changed_inputs == other.changed_inputs
    )


def _alike(one: Value, other: Value, rounding: float) -> bool:
    if type(one) is not type(other) or rounding == 0.0:
        return same_values(one, other)
    one, other = as_tensor(one), as_tensor(other)
    if one.shape != other.shape or one.dtype != other.dtype or not one.is_floating_point():
        return same_values(one, other)
    finite = one[one.isfinite()].abs()
    largest = float(finite.max()) if finite.numel() else 0.0
    return torch.allclose(one, other, rtol=0, atol=rounding * max(largest, 1.0), equal_nan=True)


# An edit's limit in processor time: a multiple of the right program's time, and time for the tests.
_TIMES, _LEAST_SECONDS = 20, 5.0


class Fate(StrEnum):
    """The outcome of an edit."""

    CAUGHT = "caught"
    EQUIVALENT = "equivalent"
    ARGUED = "argued"
    MISSED = "missed"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An edit of a module, and the exercises whose references it may change."""

    module: str
    edit: Edit
    exercises: tuple[str, ...]


class MutantRunner:
    """A runner of edited programs through the tests."""

    def __init__(
        self,
        suite: Suite,
        judge: Judge,
        programs: References,
        right: Functions,
        reach: Reach,
    ) -> None:
        self._root = suite.assignment.root
        self._judge = judge
        self._programs = programs
        self._right = right
        self._reach = reach
        self._answers: dict[str, list[Answer]] = {}
        self._took: dict[str, float] = {}
        for exercise in right:
            began = time.process_time()
            self._answers[exercise] = list(self._given(right, exercise, reach.calls(exercise)))
            self._took[exercise] = time.process_time() - began

    def may_take(self, candidate: Candidate) -> float:
        """Returns an edit's limit in processor seconds: an edit may make a loop endless."""
        return _LEAST_SECONDS + _TIMES * sum(self._took[one] for one in candidate.exercises)

    def examine(self, candidate: Candidate) -> Fate:
        """Returns the fate of an edit.

        A test's verdict on a program depends on the program's answers alone. If all answers are as
        before, no test is run.
        """
        programs, module = self._programs, candidate.module
        code = programs.compiled(module, candidate.edit.applied(programs.source(module)))
        try:
            edited = programs.load({module: code})
        except (Exception, SystemExit):
            return Fate.CAUGHT
        if any(exercise not in edited for exercise in candidate.exercises):
            return Fate.CAUGHT
        different = []
        for exercise in candidate.exercises:
            if not self._answers_as_before(edited, exercise):
                if self._is_caught(edited, exercise):
                    return Fate.CAUGHT
                different.append(exercise)
        alike = all(self._are_alike(edited, exercise) for exercise in different)
        return Fate.EQUIVALENT if alike else Fate.MISSED

    def _answers_as_before(self, edited: Functions, exercise: str) -> bool:
        """Returns whether a function gives the same answers to the last bit, with the same work."""
        given = self._given(edited, exercise, self._reach.calls(exercise))
        return all(
            answer.work == right.work and _same(answer, right, 0.0)
            for answer, right in zip(given, self._answers[exercise], strict=True)
        )

    def _given(self, programs: Functions, exercise: str, calls: Sequence[Call]) -> Iterator[Answer]:
        return answers(programs[exercise], calls, self._root, self._right)

    def _is_caught(self, edited: Functions, adapter: str) -> bool:
        """Returns whether a test fails, of any exercise whose tests call the function."""
        others = {**self._right, adapter: edited[adapter]}
        ask = answering(self._root, edited, others)
        return any(
            verdict.status is not Status.PASSED
            for exercise in self._reach.exercises(adapter)
            for verdict in self._judge.grade(ask, (exercise,))
        )

    def _are_alike(self, edited: Functions, exercise: str) -> bool:
        """Returns whether a function answers as before within rounding, apart from work.

        All answers must be roughly the same. For the first few calls whose answers differ, the
        answers in float64 must also be the same within rounding.
        """
        precise, calls = 0, self._reach.calls(exercise)
        both = (self._right, edited)
        before, after = (self._given(programs, exercise, calls) for programs in both)
        for call, right, changed in zip(calls, before, after, strict=True):
            if _same(right, changed, 0.0):
                continue
            if not _same(right, changed, _ROUGHLY):
                return False
            if precise < _MOST_PRECISE and call.device == CPU and not call.counts:
                precise += 1
                exact = [_in_float64(call)]
                (right,), (changed,) = (self._given(programs, exercise, exact) for programs in both)
                if not _same(right, changed, _ROUNDING):
                    return False
        return True
