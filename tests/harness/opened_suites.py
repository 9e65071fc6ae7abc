"""Suites of small assignments, opened in this process as a judge opens them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from grader.core.assignment import find_assignment
from grader.core.wire.calls import Answer, Call
from grader.home.bench import DirectCalls
from grader.testing.suite import Suite

Result = TypeVar("Result")

_OF_A_COURSE = ("adapters", "assignment", "solutions")
_OF_TESTS = ("tests.public", "tests.hidden", "tests.conftest")


@contextlib.contextmanager
def other_course() -> Iterator[None]:
    """Hides the modules of any other assignment, and forgets those of this one afterwards."""
    before, paths = {**sys.modules}, [*sys.path]
    _forget()
    try:
        yield
    finally:
        _forget()
        sys.modules.update({name: own for name, own in before.items() if _is_of_a_course(name)})
        sys.path[:] = paths


def opened(course: Path, serve: Callable[[Suite], Result], exercises: Sequence[str] = ()) -> Result:
    """Opens the suite of the assignment in a folder while `serve` runs; returns its result."""
    with other_course():
        return Suite(find_assignment(course), exercises).open(serve)


@dataclass
class Answers:
    """Answers calls with functions, and notes them; its answers have digests."""

    functions: dict[str, Callable[..., Any]]
    calls: list[Call] = field(default_factory=list)

    def __call__(self, call: Call) -> Answer:
        """Returns the answer of the function that is called."""
        self.calls.append(call)
        module: Any = type("adapters", (), {n: staticmethod(f) for n, f in self.functions.items()})
        answer = DirectCalls(module, Path(__file__).parent)(call)
        return replace(answer, digest=repr(answer.value).encode())


def _forget() -> None:
    for name in [name for name in sys.modules if _is_of_a_course(name)]:
        del sys.modules[name]


def _is_of_a_course(name: str) -> bool:
    return name.partition(".")[0] in _OF_A_COURSE or name.startswith(_OF_TESTS)
