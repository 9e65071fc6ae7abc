"""Imports the course's own code: contract, references, and what exercises build on."""

from __future__ import annotations

import contextlib
import graphlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.core.assignment import BadAssignment
from grader.core.names import is_adapter, meant
from grader.testing.contract import Adapter, read_contract
from grader.worker.exceptions import describe_exception


def make_importable(root: Path) -> None:
    """Puts the folder of an assignment first on `sys.path`."""
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))


@contextlib.contextmanager
def course_code(what: str, root: Path) -> Iterator[None]:
    """Turns an exception of the course's own code into a BadAssignment for its author.

    Raises:
        BadAssignment: in place of any other exception; the text names the line.
    """
    try:
        yield
    except BadAssignment:
        raise
    except (Exception, SystemExit) as exception:
        raised = describe_exception(exception, root)
        place = next((f" ({f.file}:{f.line})" for f in reversed(raised.frames)), "")
        said = f"{raised.kind}: {' '.join(raised.message.split())}"
        raise BadAssignment(f"{what} cannot be used: {said}{place}") from exception


def load_contract(root: Path) -> dict[str, Adapter]:
    """Returns the adapters' contract, from `adapters.py` in `root`."""
    make_importable(root)
    return read_contract(importlib.import_module("adapters"))


def load_references(root: Path) -> dict[str, Callable[..., Any]]:
    """Returns the references in `solutions/` by exercise; none if a handout leaves them out.

    Raises:
        BadAssignment: if they cannot be imported.
    """
    if not (root / "solutions").is_dir():
        return {}
    make_importable(root)
    with course_code("solutions/", root):
        solutions = importlib.import_module("solutions")
    return {name: value for name, value in vars(solutions).items() if is_adapter(name)}


Variants = Sequence[Callable[..., Any]]
# Joins the names of two mistakes that are made together.
AND = " + "


@dataclass(frozen=True, slots=True)
class Foundations:
    """The exercises that each exercise may build on, likeliest first, and the known mistakes.

    `mistakes` holds, by mistake and exercise, its variants: functions that make the mistake.
    """

    builds_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    mistakes: Mapping[str, Mapping[str, Variants]] = field(default_factory=dict)

    def variants(self, mistake: str, exercise: str) -> Variants:
        """Returns the functions that make the named mistake in an exercise."""
        return self.mistakes.get(mistake, {}).get(exercise, ())

    def sharing_with(self, exercise: str) -> set[str]:
        """Returns the exercises that may run an exercise's code.

        They are the exercise itself, those that may build on it, and those that it may build on.
        """
        above = (name for name, below in self.builds_on.items() if exercise in below)
        return {exercise, *above, *self.builds_on.get(exercise, ())}

    def shared(self, exercise: str, root: str) -> list[str]:
        """Returns the mistakes that can be made in both of two exercises."""
        known = self.mistakes.items()
        return [name for name, variants in known if exercise in variants and root in variants]


def load_foundations(root: Path, exercises: Sequence[str]) -> Foundations:
    """Reads `BUILDS_ON` in `solutions.mistakes`, and the `MISTAKES` beside it.

    Raises:
        BadAssignment: if an import fails, or `BUILDS_ON` names another thing or goes in a circle.
    """
    if not (root / "solutions").is_dir():
        return Foundations()
    make_importable(root)
    with course_code("solutions/mistakes", root):
        if importlib.util.find_spec("solutions.mistakes") is None:
            return Foundations()
        module = importlib.import_module("solutions.mistakes")
        builds_on = {name: tuple(of) for name, of in getattr(module, "BUILDS_ON", {}).items()}
        for name in (*builds_on, *(root for of in builds_on.values() for root in of)):
            if name not in exercises:
                raise BadAssignment(
                    f"solutions/mistakes: BUILDS_ON names {name!r}, which is not an exercise: "
                    f"{meant(name, exercises)}"
                )
        _require_no_circle(builds_on)
        if not builds_on:
            return Foundations()
        return Foundations(builds_on, {one.id: one.variants for one in module.MISTAKES})


def in_building_order(
    points: Mapping[str, float], builds_on: Mapping[str, Collection[str]]
) -> dict[str, float]:
    """Returns exercises with their points, in order, but each after those it builds on."""
    ordered: dict[str, float] = {}

    def add(exercise: str) -> None:
        for below in points:
            if below in builds_on.get(exercise, ()) and below not in ordered:
                add(below)
        ordered[exercise] = points[exercise]

    for exercise in points:
        add(exercise)
    return ordered


def _require_no_circle(builds_on: Mapping[str, Sequence[str]]) -> None:
    try:
        graphlib.TopologicalSorter(builds_on).prepare()
    except graphlib.CycleError as error:
        circle = " builds on ".join(reversed(error.args[1]))
        raise BadAssignment(f"solutions/mistakes: BUILDS_ON goes in a circle: {circle}") from None


def listed_in(module: str, name: str) -> Sequence[Any]:
    """Returns the items of a list in a module of the course; none if there is no such list."""
    if importlib.util.find_spec(module) is None:
        return ()
    return tuple(getattr(importlib.import_module(module), name, ()))
