"""Wrong answers that no known mistake explains, as a class compares them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch

from grader.core.evidence import StepWalk
from grader.core.explanation import WrongAnswer, WrongAnswers, spread_over
from grader.core.text import plain
from grader.core.verdict import TELLING_ASPECTS, Aspect
from grader.core.wire.values_in_words import in_words
from grader.explain.mistakes.catalogue import Catalogue
from grader.explain.mistakes.diagnosis import is_right
from grader.explain.mistakes.prediction import Numbers, same_numbers
from grader.explain.repair.choice import RepairedExercise
from grader.explain.repair.questions import dtypes_of
from grader.testing.comparison import tolerance_for
from grader.testing.outcome import Observation

_LONGEST_INPUTS = 400


def nameless(
    catalogue: Catalogue, answers: Mapping[str, Sequence[Observation]]
) -> tuple[WrongAnswers, ...]:
    """Returns, by exercise, the wrong answers in tests that can tell mistakes apart.

    Keeps some numbers of a large answer. Leaves out an exercise whose kept numbers are all right:
    other mistakes would look the same.
    """
    found = []
    for exercise, observations in answers.items():
        wrong = [
            one
            for one in observations
            if one.aspect in TELLING_ASPECTS and is_right(catalogue, one) is False
        ]
        if any(_shows(catalogue, one) for one in wrong):
            found.append(WrongAnswers(exercise, tuple(map(_kept, wrong))))
    return tuple(found)


def _shows(catalogue: Catalogue, seen: Observation) -> bool:
    """Returns whether a number that is kept of a wrong answer, or its shape, is wrong."""
    right, value = catalogue.right(seen), seen.value
    if not isinstance(right, Numbers) or right.value.shape != value.shape:
        return True
    places = [int(place) for place in spread_over(range(value.numel()))]
    own, wanted = (one.reshape(-1)[places] for one in (value, right.value))
    return not same_numbers(seen, own, wanted, right.rounding, 1)


def suspicion(
    exercise: str, repaired: Mapping[str, RepairedExercise], walks: Sequence[StepWalk]
) -> str | None:
    """Returns the line of the exercise's repair or, without one, its first wrong step, or None."""
    if exercise in repaired:
        place = repaired[exercise].places[0]
        return plain(f"{place.subject}: {place.source}")
    for walk in walks:
        astray = next((step.name for step in walk.steps if step.right is False), None)
        if walk.exercise == exercise and astray is not None:
            return f'the step "{astray}" is wrong or missing'
    return None


def _kept(seen: Observation) -> WrongAnswer:
    given = seen.call.arguments
    # A coarse answer to fine inputs has no wider tolerance.
    finer = dtypes_of(seen) if seen.value.is_floating_point() else []
    tolerances = map(tolerance_for, [seen.value.dtype, *finer])
    tolerance = min(tolerances, key=lambda one: one.rtol)
    inputs = ", ".join(f"{name}: {in_words(value)}" for name, value in given.items())
    shapes = (getattr(value, "shape", ()) for value in given.values())
    numbers = seen.value.detach().to(torch.float64).reshape(-1).tolist()
    return WrongAnswer(
        seen.test,
        seen.number,
        seen.aspect is Aspect.VALUES,
        tuple(seen.value.shape),
        spread_over(numbers),
        (tolerance.rtol, tolerance.atol),
        plain(inputs)[:_LONGEST_INPUTS],
        sum(math.prod(shape) for shape in shapes),
    )
