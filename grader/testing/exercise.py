"""The marks that assign a test function to an exercise and an aspect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from grader.core.names import meant
from grader.core.verdict import Aspect

Test = TypeVar("Test", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Membership:
    """A test's exercise and aspect, and its weight among the tests of both."""

    exercise: str
    aspect: Aspect
    weight: float


def exercise(name: str, *, aspect: str = "values", weight: float = 1.0) -> Callable[[Test], Test]:
    """Decorates a test of the adapter `name`.

    The tests of one aspect share the aspect's part of the exercise's points by `weight`.
    """
    return pytest.mark.exercise(name, aspect=_aspect(aspect), weight=weight)


def aspect(name: str) -> pytest.MarkDecorator:
    """Returns a mark for `pytest.param(..., marks=...)` with this parameter's aspect."""
    return pytest.mark.aspect(_aspect(name))


def _aspect(name: str) -> Aspect:
    try:
        return Aspect(name)
    except ValueError:
        raise ValueError(f"there is no aspect {name!r}: {meant(name, Aspect)}") from None


def membership(item: pytest.Item) -> Membership | None:
    """Returns the marks of a collected test, or None if the test belongs to no exercise."""
    mark = item.get_closest_marker("exercise")
    if mark is None:
        return None
    override = item.get_closest_marker("aspect")
    chosen = override.args[0] if override else mark.kwargs["aspect"]
    return Membership(mark.args[0], chosen, mark.kwargs["weight"])


def subject_of(item: pytest.Item) -> str:
    """Returns the subject of a test: the first line of its docstring, if it has one."""
    docstring = getattr(getattr(item, "function", None), "__doc__", None) or ""
    return "".join(docstring.strip().splitlines()[:1])
