"""An assignment's right programs, loaded with an edit, and the lines that the tests' calls run."""

from __future__ import annotations

import ast
import importlib
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from grader.authoring.verification import answering
from grader.core.assignment import BadAssignment
from grader.core.names import CPU, is_adapter
from grader.core.verdict import Status
from grader.core.wire.calls import Answer, Call, encode_call
from grader.grading.judge.judge import Judge
from grader.testing.suite import Suite

PACKAGE = "solutions"
REFERENCES = "the references"
_VARIANTS = f"{PACKAGE}.variants"
_WRONG = (f"{PACKAGE}.mistakes", f"{PACKAGE}.habits")

Functions = Mapping[str, Callable[..., Any]]


class RightPrograms:
    """The references and the right variants, by name, and the modules that define them."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._codes: dict[str, CodeType] = {}
        folder = root / PACKAGE
        files = sorted(folder.rglob("*.py"))
        self._all = {_named(file, root): file for file in files}
        self.files = {name: file for name, file in self._all.items() if not _is_in(name, *_WRONG)}

    def source(self, module: str) -> str:
        """Returns the source of a module."""
        return self._all[module].read_text(encoding="utf-8")

    def place(self, module: str) -> str:
        """Returns the file of a module, relative to the assignment's folder."""
        return self._all[module].relative_to(self._root).as_posix()

    def code(self, module: str) -> CodeType:
        """Returns the compiled code of a module without an edit."""
        if module not in self._codes:
            self._codes[module] = self.compiled(module, self.source(module))
        return self._codes[module]

    def compiled(self, module: str, source: str) -> CodeType:
        """Returns the compiled code of a module with another source."""
        return compile(source, str(self._all[module]), "exec", dont_inherit=True)

    def load(self, changed: Mapping[str, CodeType]) -> dict[str, Functions]:
        """Returns the functions by exercise, of the references and of each variant.

        Exceptions of the modules' imports are not caught.
        """
        with self._imported_from({name: self.code(name) for name in self._all} | dict(changed)):
            references = vars(importlib.import_module(PACKAGE))
            found: dict[str, Functions] = {
                REFERENCES: {name: value for name, value in references.items() if is_adapter(name)}
            }
            if _VARIANTS in self._all:
                variants: Sequence[Any] = importlib.import_module(_VARIANTS).VARIANTS
                found |= {str(variant.name): variant.functions for variant in variants}
            return found

    @contextmanager
    def _imported_from(self, codes: Mapping[str, CodeType]) -> Iterator[None]:
        """Makes imports of the package use these codes; restores `sys.modules` afterwards."""
        ours = [name for name in sys.modules if _is_in(name, PACKAGE)]
        before = {name: sys.modules.pop(name) for name in ours}
        packages = {name for name, file in self._all.items() if file.stem == "__init__"}
        finder = _Finder(codes, packages)
        sys.meta_path.insert(0, finder)
        try:
            yield
        finally:
            sys.meta_path.remove(finder)
            for name in [name for name in sys.modules if _is_in(name, PACKAGE)]:
                del sys.modules[name]
            sys.modules.update(before)


class _Finder(MetaPathFinder, Loader):
    """A finder and loader of modules in memory."""

    def __init__(self, codes: Mapping[str, CodeType], packages: set[str]) -> None:
        self._codes = codes
        self._packages = packages

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the spec of a module in memory; None for any other module."""
        del path, target
        if fullname not in self._codes:
            return None
        return ModuleSpec(fullname, self, is_package=fullname in self._packages)

    def exec_module(self, module: ModuleType) -> None:
        """Runs the code of a module."""
        exec(self._codes[module.__name__], vars(module))


def _named(file: Path, root: Path) -> str:
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _is_in(module: str, *packages: str) -> bool:
    return f"{module}.".startswith(tuple(f"{package}." for package in packages))


# The name of a program (the references or a variant), and an exercise of it.
Role = tuple[str, str]


@dataclass(slots=True)
class Reach:
    """The roles that run each line of each module, and the calls of each exercise.

    `own` are the calls of the tests' draw. `further` are calls of other draws: the calls on the
    CPU whose work is not counted. `asking` are the exercises with tests that call an adapter.
    """

    roles: dict[str, dict[int, set[Role]]]
    own: dict[str, list[Call]] = field(default_factory=dict)
    further: dict[str, list[Call]] = field(default_factory=dict)
    asking: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def exercises(self, adapter: str) -> tuple[str, ...]:
        """Returns the exercises with tests that call an adapter, its own one first."""
        return (adapter, *sorted(self.asking[adapter] - {adapter}))

    def calls(self, role: Role) -> list[Call]:
        """Returns the calls that distinguish a role's function from an edit of it."""
        name, exercise = role
        further = self.further.get(exercise, []) if name == REFERENCES else []
        return [*self.own.get(exercise, ()), *further]

    def of(self, module: str, lines: Set[int]) -> set[Role]:
        """Returns the roles that run any of the lines."""
        known = self.roles.get(module, {})
        return set().union(*(known.get(line, set()) for line in lines))


class _Tracing:
    """The `ask` of a program's functions; it records calls, and the lines that these run."""

    def __init__(
        self,
        name: str,
        answer: Callable[[Call], Answer],
        modules: Mapping[str, str],
        reach: Reach,
    ) -> None:
        self._name = name
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
        if self._name == REFERENCES and known not in self._seen:
            self._seen.add(known)
            if not self.is_further:
                self._reach.own.setdefault(call.adapter, []).append(call)
            elif call.device == CPU and not call.counts:
                self._reach.further.setdefault(call.adapter, []).append(call)
        # The references answer what a variant's tests ask of other adapters.
        name = REFERENCES if call.exercise else self._name
        with self._traced((name, call.adapter)):
            return self._answer(call)

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
    """Returns the reach of the right programs, and the functions of each program.

    `judge` runs the tests of `exercises` on every program. The references also answer the calls of
    these tests in the draws of `seeds`.

    Raises:
        BadAssignment: if a right program fails a test.
    """
    root = suite.assignment.root
    modules = {str(file): module for module, file in programs.files.items()}
    reach = Reach({module: defaultdict(set) for module in programs.files})
    right = programs.load({})
    for name, functions in right.items():
        answer = answering(root, functions, right[REFERENCES])
        tracing = _Tracing(name, answer, modules, reach)
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
