"""Contracts as they are read from the adapters of a module, and the results that they refuse."""

from __future__ import annotations

import collections.abc
import pathlib
import types
from typing import Any, Protocol

import pytest
import torch

from grader.core.assignment import BadAssignment
from grader.testing.contract import CannotCross, kind_of, read_contract, signature_of

pytestmark = pytest.mark.unit


def test_a_contract_holds_the_adapters_of_a_module():
    """A parameter without an annotation takes anything."""

    def run_it(x: int, y=2, *more: int, **named: int) -> str: ...

    module: Any = types.ModuleType("adapters")
    module.run_it, module.run_x, module.helper = run_it, 7, run_it
    contract = read_contract(module)
    assert [*contract] == ["run_it"]
    own = contract["run_it"]
    assert {name: str(kind) for name, kind in own.kinds.items()} == {"x": "an int", "y": "anything"}
    assert (str(own.result), own.is_item) == ("a str", False)


@pytest.mark.parametrize(
    "annotation",
    [
        pathlib.Path,
        list[pathlib.Path],
        dict[str, pathlib.Path],
        tuple[int, pathlib.Path],
        set[pathlib.Path],
        int | pathlib.Path,
        collections.abc.Iterator[pathlib.Path],
    ],
    ids=str,
)
def test_only_tests_can_make_a_path_or_a_module(annotation):
    """Such a value may be given at any depth, and never comes back."""

    def run_it(x: Any) -> Any: ...

    run_it.__annotations__ = {"x": annotation}
    assert signature_of(run_it)
    run_it.__annotations__ = {"return": annotation}
    with pytest.raises(CannotCross, match="its result: a path can be given, and not come back"):
        signature_of(run_it)


class Stepping(Protocol):
    """A protocol to inherit from."""

    size: int

    def __init__(self, size: int) -> None: ...
    def step(self, by: int) -> int: ...


class Resetting(Stepping, collections.abc.Sized, Protocol):
    """A protocol with a method of its own, and another result of an inherited one."""

    def step(self, by: int) -> str: ...
    def reset(self) -> None: ...


class Node(Protocol):
    """A protocol that mentions itself."""

    def joined(self, other: Node) -> Node: ...


def test_a_protocol_inherits_methods_and_attributes():
    """The methods of its own come after those that it inherits, and replace them."""
    kind: Any = kind_of(Resetting)
    assert [*kind.methods] == ["__init__", "step", "reset"]
    assert str(kind.methods["step"].result) == "a str"
    assert [*kind.attributes] == ["size"]


@pytest.mark.parametrize(
    "annotation",
    [
        list[Stepping],
        dict[str, type[Stepping]],
        tuple[int, Stepping],
        list[Stepping | None],
        collections.abc.Iterator[Stepping],
        collections.abc.Iterator[torch.nn.Parameter],
        list[collections.abc.Iterator[int]],
    ],
    ids=str,
)
def test_what_stays_with_a_submission_comes_back_only_by_itself(annotation):
    """Inside another value, no test could use it."""

    def run_it(x: Any) -> Any: ...

    run_it.__annotations__ = {"return": annotation}
    said = r"its result: .* stays with the submission, and comes back only by itself, not inside"
    with pytest.raises(CannotCross, match=said):
        signature_of(run_it)


@pytest.mark.parametrize("annotation", [Stepping, type[Stepping], torch.nn.Parameter])
def test_what_stays_with_a_submission_may_be_a_whole_result(annotation):
    """A list of parameters crosses as their numbers."""

    def run_it(x: Any) -> Any: ...

    for one in (annotation, list[torch.nn.Parameter], collections.abc.Iterator[int]):
        run_it.__annotations__ = {"return": one}
        assert signature_of(run_it)


def test_a_protocol_that_mentions_itself_is_refused_with_what_to_do():
    """A method's result that is such an object would be of no use to a test."""

    def get_node() -> Node: ...

    module: Any = types.ModuleType("adapters")
    module.get_node = get_node
    with pytest.raises(BadAssignment, match=r"mentions itself.*Let a run_"):
        read_contract(module)
