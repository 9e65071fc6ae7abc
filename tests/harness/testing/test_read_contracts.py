"""Contracts as they are read from the adapters of a module, and the results that they refuse."""

from __future__ import annotations

import collections.abc
import pathlib
import types
from typing import Any

import pytest

from grader.testing.contract import CannotCross, read_contract, signature_of

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
