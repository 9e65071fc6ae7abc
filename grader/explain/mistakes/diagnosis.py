"""Finds the known mistake that explains a submission's wrong answers, if exactly one does."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import torch

from grader.core.verdict import COUNTED_ASPECTS, TELLING_ASPECTS, Aspect, Diagnosis
from grader.core.wire.value_rows import as_tensor
from grader.explain.deadline import NEVER, Deadline, TooLate
from grader.explain.mistakes.catalogue import Catalogue
from grader.testing.course import AND
from grader.testing.outcome import Observation, Prediction

# A mistake may magnify rounding errors: large unscaled scores do.
LENIENCY = 5
_APART = 2 * LENIENCY
# The fewest wrong answers that name a mistake. For a mistake found in another exercise of the
# submission, fewer suffice.
TELLING_CASES = 2
_TELLING_CASES_OF_A_FOUND_ONE = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """The mistake that explains an exercise, and the tests that it explains."""

    diagnosis: Diagnosis
    tests: frozenset[str]


@dataclass(frozen=True, slots=True)
class TellingAnswers:
    """The answers to an exercise that tell mistakes apart, and those among them that are wrong."""

    telling: Sequence[Observation]
    wrong: Sequence[Observation]


def diagnose(
    catalogue: Catalogue,
    observations: Mapping[str, Sequence[Observation]],
    deadline: Deadline = NEVER,
    contradicts: Callable[[str, str], bool] = lambda _exercise, _mistake: False,
) -> dict[str, Finding]:
    """Returns, by exercise, the one mistake that explains its answers, where there is one.

    A mistake found in one exercise helps to decide answers that are ambiguous by themselves. If
    several exercises show the same mistake, it is explained in the first one, and the others refer
    to it. Exercises that miss the deadline are left out, as are findings that other evidence
    `contradicts`.
    """
    found: dict[str, Finding] = {}
    with contextlib.suppress(TooLate):
        for enough in (TELLING_CASES, _TELLING_CASES_OF_A_FOUND_ONE):
            left = [name for name in observations if name not in found]
            for exercise in deadline.each(left):
                named = {finding.diagnosis.mistake for finding in found.values()}
                finding = _finding(catalogue, observations[exercise], named, deadline, enough)
                if finding is not None and not contradicts(exercise, finding.diagnosis.mistake):
                    found[exercise] = finding
    return _at_the_root({name: found[name] for name in observations if name in found})


def is_right(catalogue: Catalogue, observation: Observation) -> bool | None:
    """Returns whether an answer agrees with the reference's; None if that is not known."""
    right = catalogue.right(observation)
    return None if right is None else observation.is_as(right, 1)


def wrong_cases(catalogue: Catalogue, observations: Sequence[Observation]) -> int:
    """Returns how many answers are wrong in tests whose answers tell mistakes apart."""
    telling = (one for one in observations if one.aspect in TELLING_ASPECTS)
    return sum(is_right(catalogue, one) is False for one in telling)


def _finding(
    catalogue: Catalogue,
    observations: Sequence[Observation],
    named: Set[str],
    deadline: Deadline,
    enough: int,
) -> Finding | None:
    """Returns the mistake that explains an exercise; among several, the one `named` elsewhere.

    With fewer answers than usual, `enough` for a found mistake, it is one of the `named`.
    """
    evidence = _evidence(catalogue, observations, enough)
    if evidence is None:
        return None
    known = [
        name
        for name in _known_for_some(catalogue, evidence.wrong, enough)
        if name in named
        or (enough == TELLING_CASES and not catalogue.echoes(name, evidence.wrong[0]))
    ]
    alone = [name for name in known if AND not in name]
    fitting = _fitting(catalogue, deadline.each(alone), evidence, enough)
    if fitting and fitting.keys().isdisjoint(named):
        # Two mistakes found elsewhere may together give the answers of a third one.
        both = [name for name in known if AND in name and named >= {*name.split(AND)}]
        fitting = _fitting(catalogue, deadline.each(both), evidence, enough) or fitting
    if not fitting:
        same = _indifferent(catalogue, evidence.wrong, deadline)
        if same is not None:
            tests = frozenset(one.test for one in evidence.wrong)
            return Finding(catalogue.diagnosis(same, evidence.wrong[0]), tests)
        together = [name for name in known if AND in name]
        fitting = _fitting(catalogue, deadline.each(together), evidence, enough)
    if len(fitting) > 1:
        fitting = {name: fitting[name] for name in fitting if name in named}
    return _explaining(catalogue, fitting, evidence, observations)


def _evidence(
    catalogue: Catalogue, observations: Sequence[Observation], enough: int
) -> TellingAnswers | None:
    """Returns the first of three sets of answers that contains enough wrong ones, or None.

    The first set holds answers whose values were compared. The second adds answers of a wrong
    shape. The third adds NaN and infinity in tests of numerics, and right answers there, which
    speak against a mistake that gives NaN.
    """
    plain = [one for one in observations if one.aspect in TELLING_ASPECTS and catalogue.right(one)]
    shaped = [one for one in plain if not one.refused]
    strange = [
        one
        for one in observations
        if one.aspect is Aspect.NUMERICS
        and (right := catalogue.right(one))
        and (not bool(one.value.isfinite().all()) or _agrees(one, right, 1))
    ]
    for telling in (shaped, plain, plain + strange):
        wrong = [one for one in telling if not _agrees(one, catalogue.right(one), 1)]
        if len(wrong) >= enough:
            return TellingAnswers(telling, wrong)
    return None


def _known_for_some(
    catalogue: Catalogue, wrong: Sequence[Observation], enough: int
) -> Sequence[str]:
    """Returns the mistakes that are known for at least `enough` wrong answers."""
    known = Counter(name for one in wrong for name in catalogue.names(one))
    return [name for name, count in known.items() if count >= enough]


def _fitting(
    catalogue: Catalogue, names: Iterable[str], evidence: TellingAnswers, enough: int
) -> dict[str, set[int]]:
    """Returns the mistakes that give every answer of the evidence, with the variants that do."""
    fitting = {name: _fitting_variants(catalogue, name, evidence, enough) for name in names}
    return {name: variants for name, variants in fitting.items() if variants}


def _fitting_variants(
    catalogue: Catalogue, name: str, evidence: TellingAnswers, enough: int
) -> set[int]:
    """Returns the numeric variants of a mistake whose known answers equal all of the evidence.

    Wrong answers are compared first, because they rule out most mistakes at once.
    """
    fitting: set[int] | None = None
    told: Counter[int] = Counter()
    wrong = len(evidence.wrong)
    for place, observation in enumerate([*evidence.wrong, *evidence.telling]):
        predictions = catalogue.predictions(name, observation)
        if not predictions:
            continue
        fitting = {
            number
            for number, prediction in enumerate(predictions)
            if (fitting is None or number in fitting) and _agrees(observation, prediction, LENIENCY)
        }
        if not fitting:
            return set()
        if place < wrong:
            told.update(
                number
                for number in fitting
                if (own := predictions[number]) is not None
                and own.tells
                and _errs(catalogue, observation, own)
            )
    return {number for number in fitting or () if told[number] >= enough}


def _indifferent(
    catalogue: Catalogue, wrong: Sequence[Observation], deadline: Deadline
) -> str | None:
    """Returns the mistake that ignores just the arguments that differ in two equal answers.

    The two calls belong to one test, and the answer is wrong. Constant answers, and answers equal
    to an input, do not count: they ignore more than those arguments.
    """
    for one, other in deadline.each(itertools.combinations(wrong, 2)):
        if one.test != other.test or not torch.equal(one.value, other.value):
            continue
        arguments = one.call.arguments
        inputs = (as_tensor(value) for value in arguments.values())
        if _is_constant(one.value) or any(_is_same(one.value, given) for given in inputs):
            continue
        if not _errs(catalogue, one, catalogue.right(other)):
            continue
        changed = {
            name
            for name, value in arguments.items()
            if not _is_same(as_tensor(value), as_tensor(other.call.arguments.get(name)))
        }
        for name, ignored in catalogue.ignored(one).items():
            if changed and changed == {argument for argument in arguments if argument in ignored}:
                return name
    return None


def _is_same(value: torch.Tensor, given: torch.Tensor) -> bool:
    return value.dtype == given.dtype and torch.equal(value, given)


def _is_constant(value: torch.Tensor) -> bool:
    return value.numel() > 1 and bool((value == value.flatten()[0]).all())


def _explaining(
    catalogue: Catalogue,
    fitting: Mapping[str, set[int]],
    evidence: TellingAnswers,
    observations: Iterable[Observation],
) -> Finding | None:
    """Returns the one mistake that fits, with the tests whose wrong answers it predicts.

    A test also counts if the mistake's answer to it is not known. A test of counted work does not.
    """
    if len(fitting) != 1:
        return None
    ((name, variants),) = fitting.items()
    variant = min(variants)
    explained = set()
    for one in observations:
        if one.aspect in COUNTED_ASPECTS:
            continue
        right, predictions = catalogue.right(one), catalogue.predictions(name, one)
        if right is None or _agrees(one, right, 1):
            continue
        own = predictions[variant] if predictions else None
        is_its = _agrees(one, own, LENIENCY) and _errs(catalogue, one, own)
        if not predictions or is_its:
            explained.add(one.test)
    return Finding(catalogue.diagnosis(name, evidence.wrong[0]), frozenset(explained))


def _agrees(observation: Observation, prediction: Prediction | None, leniency: float) -> bool:
    return prediction is not None and observation.is_as(prediction, leniency)


def _errs(catalogue: Catalogue, observation: Observation, prediction: Prediction | None) -> bool:
    """Returns whether a predicted answer is clearly different from the right answer."""
    right = catalogue.right(observation)
    if prediction is None or right is None:
        return False
    return not right.is_like(prediction, observation, _APART)


def _at_the_root(found: Mapping[str, Finding]) -> dict[str, Finding]:
    roots: dict[str, str] = {}
    explained = {}
    for exercise, finding in found.items():
        mistake = finding.diagnosis.mistake
        root = roots.setdefault(mistake, exercise)
        if root != exercise:
            diagnosis = dataclasses.replace(
                finding.diagnosis,
                explanation=f"The same mistake as in {root}.",
                hint=f"Fix {root} first, and see what is left.",
            )
            finding = dataclasses.replace(finding, diagnosis=diagnosis)
        explained[exercise] = finding
    return explained
