"""What exercises build on, and the mistakes that are carried from one to another."""

from __future__ import annotations

import functools
import graphlib
import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.core.assignment import BadAssignment, meant
from grader.testing.course import course_code, make_importable

Variants = Sequence[Callable[..., Any]]
# Between the names of two mistakes that are made together.
AND = " + "


@dataclass(frozen=True, slots=True)
class Foundations:
    """By exercise those that it may build on, the likeliest first; by mistake its variants.

    Variants are functions that make the mistake, by exercise; `combined` tells those that make two
    mistakes at once.
    """

    builds_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    mistakes: Mapping[str, Mapping[str, Variants]] = field(default_factory=dict)
    combined: Callable[[str, str], Mapping[str, Variants]] = lambda _one, _other: {}

    def variants(self, mistake: str, exercise: str) -> Variants:
        """The functions that make a mistake in an exercise, or two of which this is the name."""
        if mistake in self.mistakes:
            return self.mistakes[mistake].get(exercise, ())
        one, _, other = mistake.partition(AND)
        return self.combined(one, other).get(exercise, ())

    def shared(self, exercise: str, root: str) -> list[str]:
        """The mistakes that can be made in both of two exercises."""
        known = self.mistakes.items()
        return [name for name, variants in known if exercise in variants and root in variants]


def load_foundations(root: Path, exercises: Sequence[str]) -> Foundations:
    """What `BUILDS_ON` in `solutions.mistakes` says, and the `MISTAKES` beside it.

    Raises:
        BadAssignment: if they cannot be imported, or it names no exercise, or goes in a circle.
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
                    f"solutions/mistakes: BUILDS_ON names {name!r}, which is no exercise: "
                    f"{meant(name, exercises)}"
                )
        _require_no_circle(builds_on)
        if not builds_on:
            return Foundations()
        known = {one.id: one for one in module.MISTAKES}
        combined = getattr(module, "combined", None)
        variants = {name: one.variants for name, one in known.items()}
        if combined is None:
            return Foundations(builds_on, variants)
        together = functools.cache(lambda one, other: combined(known[one], known[other]))
        return Foundations(builds_on, variants, together)


def _require_no_circle(builds_on: Mapping[str, Sequence[str]]) -> None:
    try:
        graphlib.TopologicalSorter(builds_on).prepare()
    except graphlib.CycleError as error:
        circle = " builds on ".join(reversed(error.args[1]))
        raise BadAssignment(f"solutions/mistakes: BUILDS_ON goes in a circle: {circle}") from None
