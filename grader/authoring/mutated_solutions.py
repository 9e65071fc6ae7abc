"""An assignment's references, loaded with an edit, and the lines that the tests' calls run."""

from __future__ import annotations

import ast
import importlib
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from grader.authoring.verification import answering
from grader.core.assignment import BadAssignment
from grader.core.names import CPU, is_adapter
from grader.core.verdict import Status
from grader.core.wire.calls import Answer, Call, encode_call
from grader.grading.judge.judge import Judge
from grader.testing.suite import Suite

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
