"""Which lines of the right programs are run for which exercise, and by which calls."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

from grader.authoring.mutation.solutions import REFERENCES, Functions, RightPrograms
from grader.authoring.verification import Functions as Examinee
from grader.core.assignment import BadAssignment
from grader.core.settings import CPU
from grader.core.verdict import Status
from grader.core.wire.calls import Answer, Call, encode_call
from grader.grading.judge.judge import Judge
from grader.testing.suite.suite import Suite

# An examinee (the references, a variant) and an exercise of it.
Role = tuple[str, str]


@dataclass(slots=True)
class Reach:
    """The roles in which each line of each module is run, and the calls of each exercise.

    `further` are calls in other draws: plain ones, whose answers are numbers.
    """

    roles: dict[str, dict[int, set[Role]]]
    own: dict[str, list[Call]] = field(default_factory=dict)
    further: dict[str, list[Call]] = field(default_factory=dict)

    def calls(self, role: Role) -> list[Call]:
        """The calls by which an edit of a role's function is told from the function."""
        name, exercise = role
        further = self.further.get(exercise, []) if name == REFERENCES else []
        return [*self.own.get(exercise, ()), *further]

    def of(self, module: str, lines: Set[int]) -> set[Role]:
        """The roles in which any of the lines is run."""
        known = self.roles.get(module, {})
        return set().union(*(known.get(line, set()) for line in lines))


class _Tracing:
    """Answers as functions do, and notes calls and the lines that they run."""

    def __init__(
        self, name: str, examinee: Examinee, modules: Mapping[str, str], reach: Reach
    ) -> None:
        self._name = name
        self._examinee = examinee
        self._modules = modules
        self._reach = reach
        self._seen: set[bytes] = set()
        self.is_further = False

    def ask(self, call: Call) -> Answer:
        """What the function answers."""
        if not call.adapter:
            return self._examinee.ask(call)
        known = encode_call(replace(call, frame=None))
        if self._name == REFERENCES and known not in self._seen:
            self._seen.add(known)
            if not self.is_further:
                self._reach.own.setdefault(call.adapter, []).append(call)
            elif call.device == CPU and not call.counts:
                self._reach.further.setdefault(call.adapter, []).append(call)
        with self._traced((self._name, call.adapter)):
            return self._examinee.ask(call)

    @contextmanager
    def _traced(self, role: Role) -> Iterator[None]:
        def line(frame: FrameType, _event: str, _: Any) -> Any:
            module = self._modules[frame.f_code.co_filename]
            self._reach.roles[module][frame.f_lineno].add(role)
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
    programs: RightPrograms,
    judge: Judge,
    seeds: tuple[int, ...],
    exercises: Collection[str],
) -> tuple[Reach, dict[str, Functions]]:
    """The reach of the right programs, whose tests are run by `judge`; and these programs.

    The calls are those of the tests of `exercises` in this draw and, of the references, in those
    of `seeds`.

    Raises:
        BadAssignment: if they fail a test.
    """
    root = suite.assignment.root
    modules = {str(file): module for module, file in programs.files.items()}
    reach = Reach({module: defaultdict(set) for module in programs.files})
    right = programs.load({})
    for name, functions in right.items():
        examinee = Examinee(root, functions, right[REFERENCES])
        tracing = _Tracing(name, examinee, modules, reach)
        own = functions.keys() & exercises
        for verdict in judge.grade(tracing, own):
            if verdict.status is not Status.PASSED:
                what = "references fail" if name == REFERENCES else f"variant {name!r} fails"
                raise BadAssignment(f"the {what} {verdict.id}: see `grader verify`")
        if name == REFERENCES:
            tracing.is_further = True
            for seed in seeds:
                list(Judge(suite, seed).grade(tracing, own))
    return reach, right


def statement_lines(source: str) -> dict[int, range]:
    """By line, the lines of its statement: of one with a body, those before the body."""
    found: dict[int, range] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = node.end_lineno or node.lineno
            if isinstance(body, list) and body:
                end = max(node.lineno, body[0].lineno - 1)
            own = range(node.lineno, end + 1)
            found |= dict.fromkeys(own, own)
    return found
