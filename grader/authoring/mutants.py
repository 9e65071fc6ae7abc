"""An assignment's references with an edit: which lines calls run, and which edits tests catch."""

from __future__ import annotations

import ast
import importlib
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
import torch

from grader.authoring.verification import answering
from grader.core.assignment import BadAssignment
from grader.core.names import CPU, is_adapter
from grader.core.verdict import Status
from grader.core.wire.calls import Answer, Call, encode_call
from grader.core.wire.value_rows import as_tensor
from grader.core.wire.values import Value
from grader.explain.rewriting.edit import Edit
from grader.grading.judge.judge import Judge
from grader.testing.handles.handle import call_in_float64
from grader.testing.suite import Suite
from grader.worker.marshalling import copied, same_values
from grader.worker.performing import Living, perform

PACKAGE = "solutions"
_OTHERS = (f"{PACKAGE}.mistakes", f"{PACKAGE}.habits", f"{PACKAGE}.variants")

Functions = Mapping[str, Callable[..., Any]]


class References:
    """The references, and the modules that define them."""

    def __init__(self, root: Path) -> None:
        self._root = root
        folder = root / PACKAGE
        files = sorted(folder.rglob("*.py"))
        self._all = {_named(file, root): file for file in files}
        self.files = {name: file for name, file in self._all.items() if not _is_in(name, *_OTHERS)}

    def source(self, module: str) -> str:
        """Returns the source of a module."""
        return self._all[module].read_text(encoding="utf-8")

    def place(self, module: str) -> str:
        """Returns the file of a module, relative to the assignment's folder."""
        return self._all[module].relative_to(self._root).as_posix()

    def compiled(self, module: str, source: str) -> CodeType:
        """Returns the compiled code of a module with another source."""
        return compile(source, str(self._all[module]), "exec", dont_inherit=True)

    def load(self, changed: Mapping[str, CodeType]) -> Functions:
        """Returns the references by exercise, with other code for some modules.

        Exceptions of the modules' imports are not caught.
        """
        before = {name: sys.modules.pop(name) for name in _imported()}
        from_file = SourceFileLoader.get_code

        def code_of(loader: SourceFileLoader, name: str) -> CodeType | None:
            return changed.get(name) or from_file(loader, name)

        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(SourceFileLoader, "get_code", code_of)
                references = vars(importlib.import_module(PACKAGE))
            return {name: value for name, value in references.items() if is_adapter(name)}
        finally:
            for name in _imported():
                del sys.modules[name]
            sys.modules.update(before)


def _imported() -> list[str]:
    return [name for name in sys.modules if _is_in(name, PACKAGE)]


def _named(file: Path, root: Path) -> str:
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _is_in(module: str, *packages: str) -> bool:
    return f"{module}.".startswith(tuple(f"{package}." for package in packages))


@dataclass(slots=True)
class Reach:
    """The exercises that run each line of each module, and the calls of each exercise.

    `own` are the calls of the tests' draw. `further` are calls of other draws: the calls on the
    CPU whose work is not counted. `asking` are the exercises with tests that call an adapter.
    """

    lines: dict[str, dict[int, set[str]]]
    own: dict[str, list[Call]] = field(default_factory=dict)
    further: dict[str, list[Call]] = field(default_factory=dict)
    asking: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def exercises(self, adapter: str) -> tuple[str, ...]:
        """Returns the exercises with tests that call an adapter, its own one first."""
        return (adapter, *sorted(self.asking[adapter] - {adapter}))

    def calls(self, exercise: str) -> list[Call]:
        """Returns the calls that distinguish a reference from an edit of it."""
        return [*self.own.get(exercise, ()), *self.further.get(exercise, ())]

    def of(self, module: str, lines: Set[int]) -> set[str]:
        """Returns the exercises that run any of the lines."""
        known = self.lines.get(module, {})
        return set().union(*(known.get(line, set()) for line in lines))


class _Tracing:
    """The `ask` of the references; it records calls, and the lines that these run."""

    def __init__(
        self, answer: Callable[[Call], Answer], modules: Mapping[str, str], reach: Reach
    ) -> None:
        self._answer = answer
        self._modules = modules
        self._reach = reach
        self._seen: set[bytes] = set()
        self.is_further = False

    def __call__(self, call: Call) -> Answer:
        """Returns the function's answer to a call."""
        if not call.adapter:
            return self._answer(call)
        self._reach.asking[call.adapter].add(call.exercise or call.adapter)
        known = encode_call(replace(call, frame=None))
        if known not in self._seen:
            self._seen.add(known)
            if not self.is_further:
                self._reach.own.setdefault(call.adapter, []).append(call)
            elif call.device == CPU and not call.counts:
                self._reach.further.setdefault(call.adapter, []).append(call)
        with self._traced(call.adapter):
            return self._answer(call)

    @contextmanager
    def _traced(self, exercise: str) -> Iterator[None]:
        def line(frame: FrameType, _event: str, _: Any) -> Any:
            module = self._modules[frame.f_code.co_filename]
            self._reach.lines[module][frame.f_lineno].add(exercise)
            return line

        def call(frame: FrameType, _event: str, _: Any) -> Any:
            return line if frame.f_code.co_filename in self._modules else None

        before = sys.gettrace()
        sys.settrace(call)
        try:
            yield
        finally:
            sys.settrace(before)


def reach_of(
    suite: Suite,
    programs: References,
    judge: Judge,
    seeds: tuple[int, ...],
    exercises: Collection[str],
) -> tuple[Reach, Functions]:
    """Returns the reach of the references, and the references.

    `judge` runs the tests of `exercises`. The references also answer the calls of these tests in
    the draws of `seeds`.

    Raises:
        BadAssignment: if a reference fails a test.
    """
    root = suite.assignment.root
    modules = {str(file): module for module, file in programs.files.items()}
    reach = Reach({module: defaultdict(set) for module in programs.files})
    right = programs.load({})
    tracing = _Tracing(answering(root, right), modules, reach)
    own = right.keys() & exercises
    for verdict in judge.grade(tracing, own):
        if verdict.status is not Status.PASSED:
            raise BadAssignment(f"the references fail {verdict.id}: see `grader verify`")
    tracing.is_further = True
    for seed in seeds:
        list(Judge(suite, seed).grade(tracing, own))
    return reach, right


def statement_lines(source: str) -> dict[int, range]:
    """Returns each line's statement, as the range of its lines without the body."""
    found: dict[int, range] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt):
            end = node.end_lineno or node.lineno
            if body := getattr(node, "body", None):
                end = max(node.lineno, body[0].lineno - 1)
            own = range(node.lineno, end + 1)
            found |= dict.fromkeys(own, own)
    return found


# Relative to the largest value of a tensor: the error of sums in another order, in float64.
_ROUNDING = 1e-11
# The same error in the dtype of the call, which may be as imprecise as bfloat16.
_ROUGHLY = 0.02
_MOST_PRECISE = 24


def answers(
    function: Callable[..., Any], calls: Sequence[Call], root: Path, functions: Functions
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
