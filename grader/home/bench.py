"""The bench on a student's machine: the student's functions, frozen contract, frozen values."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import jaxtyping

from grader.core.assignment import Assignment, BadAssignment, find_assignment
from grader.core.points import TAKEN_OFF, WISH, CourseWorth, hundredths
from grader.core.wire.calls import Answer, Call, CallDecoder, CallEncoder, Raised, Use
from grader.core.wire.frames import received
from grader.core.wire.values import Value
from grader.explain.answers import InFull
from grader.home.reimport import CannotCopy, OwnSettings, Reimport
from grader.home.time_limit import Limit
from grader.testing.cases import SEED, HomeCases
from grader.testing.contract import Adapter, read_contract
from grader.testing.course import (
    in_building_order,
    load_contract,
    load_foundations,
    load_references,
    make_importable,
)
from grader.testing.handles.bench import Bench
from grader.testing.handles.scripts import TwoProcesses, in_two_processes
from grader.testing.outcome import StudentFault, note, uses_in_words
from grader.worker.exceptions import describe_exception
from grader.worker.observing.watching import CallWatch
from grader.worker.performing import Living, absent, perform

CONTRACT = "tests/contract.py"
_PUBLIC = "tests/public"
_MODULE = "contract_as_handed_out"


def contract_at_home(root: Path) -> dict[str, Adapter]:
    """Returns the frozen contract; if there is none, that of `adapters.py`."""
    file = root / CONTRACT
    spec = importlib.util.spec_from_file_location(_MODULE, file)
    if not file.is_file() or spec is None or spec.loader is None:
        return load_contract(root)
    module = importlib.util.module_from_spec(spec)
    # String annotations are resolved through `sys.modules`.
    sys.modules[_MODULE] = module
    spec.loader.exec_module(module)
    return read_contract(module)


_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Home:
    """The bench on a student's machine, and its parts.

    `exercises` are the assignment's exercises in order, with their points; empty if unknown.
    """

    bench: Bench
    cases: HomeCases
    calls: DirectCalls
    exercises: Mapping[str, float]
    shows_edits: bool

    def worth(self) -> CourseWorth:
        """Returns the points of all public tests, and those of the assignment."""
        public = hundredths(self.cases.all_points(_PUBLIC))
        return CourseWorth(public, sum(map(hundredths, self.exercises.values())))


def home_bench(root: Path, seconds: float | None) -> Home:
    """Returns the bench for tests that run in `root`.

    Public tests use frozen cases; other tests use the solutions, if those are there. A call may
    take `seconds` (0: no limit); None stands for the assignment's limit.
    """
    # A wrong shape is explained by the handle, in the words of the assignment.
    jaxtyping.config.update("jaxtyping_disable", True)
    make_importable(root)
    try:
        assignment = find_assignment(root)
        builds_on = load_foundations(root, [*assignment.points]).builds_on
    except BadAssignment:
        assignment, builds_on = Assignment(root, root.name, {}, {}, _SECONDS, {}), {}
    exercises = in_building_order(assignment.points, builds_on)
    seconds = assignment.call_timeout if seconds is None else seconds
    limit = Limit(seconds, root, heeds_debuggers=True)
    watch = CallWatch(assignment.forbidden, root)
    references = load_references(root)
    cases = HomeCases(root, fresh=bool(references))
    contract: dict[str, Adapter] = {}
    adapters = ModuleType("adapters")
    problem: StudentFault | None = None
    settings = OwnSettings()
    try:
        # The student's time limit leaves out the import of packages.
        importing = Limit(seconds, root, heeds_debuggers=True, spares_imports=True)
        with settings.in_force():
            contract, adapters = importing.call(
                lambda: (contract_at_home(root), importlib.import_module("adapters"))
            )
    except StudentFault as fault:
        problem = fault
    except KeyboardInterrupt:
        raise
    except BaseException as exception:  # a student's code may raise anything at all
        problem = InFull().raised(describe_exception(exception, root), "adapters.py")
    anew = problem is None
    calls = DirectCalls(adapters, root, watch, limit, anew, assignment.forbidden, settings)
    bench = Bench(contract, calls, references, cases, SEED, InFull(), problem)
    return Home(bench, cases, calls, exercises, assignment.show_edits)


class DirectCalls:
    """Calls functions of `adapters` in this process, on arguments as a worker would receive them.

    With `imports_anew`, the steps after a script hands a file on run in a second copy of the
    student's modules. `costs` are the percentages that the use of forbidden names costs.
    """

    def __init__(
        self,
        adapters: object,
        root: Path,
        watch: CallWatch | None = None,
        limit: Limit | None = None,
        imports_anew: bool = False,
        costs: Mapping[str, float] | None = None,
        settings: OwnSettings | None = None,
    ) -> None:
        self.adapters = adapters
        self.settings = settings or OwnSettings()
        self._costs = costs or {}
        self._imports_anew = imports_anew
        self._handed_on: _HandedOn | None = None
        self._root = root
        self._watch = watch
        self._limit = limit or Limit(0.0, root)
        self._living = Living(vars(adapters), watch.call) if watch else Living(vars(adapters))
        self._encoder, self._decoder = CallEncoder(), CallDecoder()
        self._noted: set[tuple[str, Use]] = set()
        # The exception of the last call, if a debugger asks for it.
        self.keeps_raised = False
        self.raised: BaseException | None = None

    def __call__(self, call: Call) -> Answer:
        """Returns the answer to a call.

        Notes each use of a forbidden name in the first test in which an adapter makes it.

        Raises:
            StudentFault: if the call takes too long.
            KeyboardInterrupt: at Ctrl-C.
        """
        if self._watch is None:
            return self._answer(call)
        self._watch.take()
        answer = self._answer(call)
        # A test may itself use a forbidden name, for example an optimizer that it saves.
        own = (use for use in self._watch.take() if not use.file.startswith(f"{_PUBLIC}/"))
        uses = {(call.adapter, use) for use in own} - self._noted
        if uses:
            self._noted |= uses
            cost = max(self._costs.get(use.name, 0) for _, use in uses)
            said = f": {cost:g}% {TAKEN_OFF}" if cost else ""
            note(f"uses {uses_in_words(use for _, use in uses)}, {WISH}{said}")
        return answer

    def _answer(self, call: Call) -> Answer:
        parts = in_two_processes(call) if self._imports_anew else None
        if parts is None:
            self._handed_on = None
            return self._done(call, vars(self.adapters), self._living)
        own = self._handed_on
        if own is None or not parts.follows(own.parts):
            answer = self._done(parts.first, vars(self.adapters), self._living)
            if answer.raised is not None:
                return answer
            try:
                copy = Reimport(self._root)
            except CannotCopy:
                return self._done(call, vars(self.adapters), self._living)
            own = _HandedOn(parts, answer.value, copy, Living(copy.functions))
            self._handed_on = own
        with own.copy.in_place():
            return self._done(parts.second(own.content), own.copy.functions, own.living)

    def _done(
        self, call: Call, functions: Mapping[str, Callable[..., object]], living: Living
    ) -> Answer:
        self.raised = None
        if call.adapter and call.adapter not in functions:
            return absent(call.adapter)
        # A call without an adapter has only steps.
        function = functions.get(call.adapter, lambda: None)
        function = self._keeping_raised(function) if self.keeps_raised else function
        arrived = self._decoder.call(received(self._encoder.frame(call)))
        with self.settings.in_force():
            answer = self._limit.call(
                lambda: perform(function, arrived, self._root, functions, living)
            )
        if answer.raised is not None:
            _give_way(answer.raised)
        return answer

    def _keeping_raised(self, function: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(function)
        def call(*args: object, **kwargs: object) -> object:
            try:
                return function(*args, **kwargs)
            except BaseException as raised:
                self.raised = raised
                raise

        return call


@dataclass(frozen=True, slots=True)
class _HandedOn:
    """A file that a script handed on, and the copy of the modules that received it."""

    parts: TwoProcesses
    content: Value
    copy: Reimport
    living: Living


def _give_way(raised: Raised) -> None:
    """Raises Ctrl-C and a debugger's exit again: they end the tests.

    Raises:
        KeyboardInterrupt: if the call raised one of them.
    """
    at_a_terminal = sys.__stdin__ is not None and sys.__stdin__.isatty()
    if raised.kind == "KeyboardInterrupt" or (raised.kind == "BdbQuit" and at_a_terminal):
        raise KeyboardInterrupt
