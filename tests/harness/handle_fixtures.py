"""Handles of a student and of a reference, for adapters of every kind."""

from __future__ import annotations

import types
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from grader.core.wire.calls import Answer, Call
from grader.home.bench import DirectCalls
from grader.testing.cases import Case, fresh_case
from grader.testing.contract import read_contract
from grader.testing.handles.handle import (
    Reference,
    Student,
)
from grader.testing.outcome import Plainly

CONTRACT = """
from collections.abc import Iterator
from typing import Any, Protocol
import torch
from jaxtyping import Float, Int
from torch import Tensor

class Box(Protocol):
    size: int
    def __init__(self, start: int) -> None: ...
    def __call__(self, more: int) -> int: ...
    def __len__(self) -> int: ...
    def put(self, value: Any) -> None: ...
    def all(self) -> list[Any]: ...
    def each(self) -> Iterator[int]: ...

class Plain(Protocol):
    def put(self, value: int) -> int: ...

def get_box() -> Box: ...
def get_class() -> type[Box]: ...
def get_plain() -> type[Plain]: ...
def get_numbers(limit: int) -> Iterator[int]: ...
def get_parameter() -> torch.nn.Parameter: ...
def run_double(x: Float[Tensor, "... n"]) -> Float[Tensor, "... n"]: ...
def run_pick(
    x: Float[Tensor, "... n"], where: Int[Tensor, "..."], size: int
) -> Float[Tensor, "..."]: ...
def run_many(x: Float[Tensor, "... n"]) -> dict[str, Tensor]: ...
"""


class Box:
    """The student's and the reference's box."""

    def __init__(self, start: int = 0) -> None:
        self.size = start
        self.held: list[Any] = []

    def __call__(self, more: int) -> int:
        return self.size + more

    def __len__(self) -> int:
        return len(self.held)

    def put(self, value: Any) -> None:
        self.held.append(value)

    def all(self) -> list[Any]:
        return self.held

    def each(self) -> Any:
        yield from range(self.size)


class Plain:
    def __init__(self, *given: int, more: int = 0) -> None:
        self.given = (*given, more)

    def put(self, value: int) -> int:
        return value + sum(self.given)


FUNCTIONS: dict[str, Any] = {
    "get_box": Box,
    "get_class": lambda: Box,
    "get_plain": lambda: Plain,
    "get_numbers": lambda limit: iter(range(limit)),
    "get_parameter": lambda: torch.nn.Parameter(torch.ones(2)),
    "run_double": lambda x: 2 * x,
    "run_pick": lambda x, where, size: size * x[..., where],
    "run_many": lambda x: {"a": x, "b": 2 * x},
}


def contract() -> Any:
    """Returns the adapters by name."""
    module = types.ModuleType("adapters")
    exec(compile(CONTRACT, "adapters.py", "exec", dont_inherit=True), vars(module))
    return read_contract(module)


class Asked:
    """The answers of functions to calls, which are noted."""

    def __init__(self, **functions: Any) -> None:
        self.direct = DirectCalls(SimpleNamespace(**FUNCTIONS | functions), Path(__file__).parent)
        self.calls: list[Call] = []
        self.fixed: Answer | None = None

    def __call__(self, call: Call) -> Answer:
        self.calls.append(call)
        return self.fixed or self.direct(call)


def student(
    name: str, asked: Asked | None = None, seen: list[Any] | None = None, **own: Any
) -> Student:
    """Returns a student's handle."""
    adapters = contract()
    observe = (lambda *one: seen.append(one)) if seen is not None else (lambda *_: None)
    given = {"device": "cpu"} | own
    return Student(
        adapters[name], asked or Asked(), 7, observe, Plainly(), others=adapters, **given
    )


def reference(name: str, case: Case | None = None, **functions: Any) -> Reference:
    """Returns a reference's handle."""
    adapters = contract()
    own = case or fresh_case(1, "test")
    return Reference(adapters[name], FUNCTIONS | functions, own, adapters)
