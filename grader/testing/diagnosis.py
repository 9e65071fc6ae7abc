"""Names the known mistake that explains a submission's wrong answers, or says nothing."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from grader.testing.comparison import Tolerance, compare, tolerance_for
from grader.verdict import Aspect, Diagnosis
from grader.wire.calls import Call

# A mistake may magnify rounding errors: large unscaled scores do.
_LENIENCY = 5
_TELLING_CASES = 2
# Large scores and low precision blur what tells mistakes apart.
TELLING_ASPECTS = (Aspect.VALUES, Aspect.GENERALITY)


@dataclass(frozen=True, slots=True)
class Observation:
    """A submission's answer to one plain call: the `number`-th of the test `test`."""

    test: str
    number: int
    aspect: Aspect
    call: Call
    value: torch.Tensor


class Catalogue(Protocol):
    """The known mistakes of an assignment, and what they would have answered."""

    def names(self, observation: Observation) -> Sequence[str]:
        """The mistakes that are known for a call, then those made together (`a + b`)."""

    def outputs(self, name: str, observation: Observation) -> Sequence[torch.Tensor | None]:
        """What each numeric variant of a mistake answers to a call; None where it cannot."""

    def right(self, observation: Observation) -> torch.Tensor | None:
        """What the reference answers to a call; None if that is not known."""

    def comparable(self, answer: torch.Tensor) -> torch.Tensor:
        """An answer in the form in which the catalogue holds answers."""

    def diagnosis(self, name: str, observation: Observation) -> Diagnosis:
        """The mistake's explanation and hint."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake that explains an exercise, and the tests whose failure it explains."""

    diagnosis: Diagnosis
    tests: frozenset[str]


def diagnose(
    catalogue: Catalogue, observations: Mapping[str, Sequence[Observation]]
) -> dict[str, Finding]:
    """The one mistake that explains each exercise's answers, by exercise.

    A mistake made in a part that other exercises build on is explained once, where it first
    appears; the others say so.
    """
    found: dict[str, Finding] = {}
    for exercise, seen in observations.items():
        named = {finding.diagnosis.mistake for finding in found.values()}
        finding = _finding(catalogue, seen, named)
        if finding is not None:
            found[exercise] = finding
    return _at_the_root(found)


def _finding(
    catalogue: Catalogue, observations: Sequence[Observation], named: Collection[str]
) -> Finding | None:
    """The mistake that explains an exercise; of several that fit, the one `named` elsewhere."""
    telling = [
        one
        for one in observations
        if one.aspect in TELLING_ASPECTS and catalogue.right(one) is not None
    ]
    wrong = [one for one in telling if not _agrees(catalogue, one, catalogue.right(one), 1)]
    if len(wrong) < _TELLING_CASES:
        return None
    for number in (0, 1):
        fitting = {
            name: variants
            for name in _known_for_some(catalogue, wrong)
            if name.count("+") == number
            and (variants := _fitting_variants(catalogue, name, telling, wrong))
        }
        if len(fitting) > 1:
            fitting = {name: fitting[name] for name in fitting if name in named} or fitting
        if len(fitting) == 1:
            ((name, variants),) = fitting.items()
            explained = _explained(catalogue, name, min(variants), observations)
            return Finding(catalogue.diagnosis(name, wrong[0]), explained)
        if fitting:
            return None
    return None


def _known_for_some(catalogue: Catalogue, wrong: Sequence[Observation]) -> list[str]:
    """The mistakes that are known for as many wrong answers as it takes to name one."""
    known = Counter(name for one in wrong for name in catalogue.names(one))
    return [name for name, count in known.items() if count >= _TELLING_CASES]


def _fitting_variants(
    catalogue: Catalogue,
    name: str,
    telling: Iterable[Observation],
    wrong: Sequence[Observation],
) -> set[int]:
    """The numeric variants of a mistake that give every answer that was given, where known.

    The wrong answers are looked at first: they rule out most mistakes at once.
    """
    fitting: set[int] | None = None
    for observation in [*wrong, *telling]:
        outputs = catalogue.outputs(name, observation)
        if not outputs:
            continue
        fitting = {
            number
            for number, output in enumerate(outputs)
            if (fitting is None or number in fitting)
            and _agrees(catalogue, observation, output, _LENIENCY)
        }
        if not fitting:
            return set()
    return fitting or set()


def _explained(
    catalogue: Catalogue, name: str, variant: int, observations: Iterable[Observation]
) -> frozenset[str]:
    """The tests in which an answer is wrong, and as far as is known is the mistake's."""
    explained = set()
    for one in observations:
        right, outputs = catalogue.right(one), catalogue.outputs(name, one)
        if right is None or _agrees(catalogue, one, right, 1):
            continue
        if not outputs or _agrees(catalogue, one, outputs[variant], _LENIENCY):
            explained.add(one.test)
    return frozenset(explained)


def _agrees(
    catalogue: Catalogue, observation: Observation, output: torch.Tensor | None, leniency: float
) -> bool:
    value = catalogue.comparable(observation.value)
    if output is None or output.shape != value.shape:
        return False
    allowed = tolerance_for(value.dtype)
    lenient = Tolerance(allowed.rtol * leniency, allowed.atol * leniency)
    return compare(value, output, lenient).ok


def _at_the_root(found: Mapping[str, Finding]) -> dict[str, Finding]:
    roots: dict[str, str] = {}
    explained = {}
    for exercise, finding in found.items():
        mistake = finding.diagnosis.mistake
        root = roots.setdefault(mistake, exercise)
        if root != exercise:
            diagnosis = dataclasses.replace(
                finding.diagnosis,
                explanation=f"{exercise} is wrong because {root} is.",
                hint=f"Fix {root} first, and see what is left.",
            )
            finding = dataclasses.replace(finding, diagnosis=diagnosis)
        explained[exercise] = finding
    return explained
