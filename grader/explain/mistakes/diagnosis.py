"""Names the known mistake that explains a submission's wrong answers, or says nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import torch

from grader.core.verdict import Aspect, Diagnosis
from grader.core.wire.values import as_tensor
from grader.explain.deadline import NEVER, Deadline, TooLate
from grader.explain.mistakes.prediction import Catalogue
from grader.testing.outcome import Observation, Prediction

# A mistake may magnify rounding errors: large unscaled scores do.
LENIENCY = 5
_APART = 2 * LENIENCY
# So many wrong answers must be a mistake's for it to be named; one that was found in another
# exercise is already known to the submission.
TELLING_CASES = 2
_TELLING_CASES_OF_A_FOUND_ONE = 1
# Large scores and low precision blur what tells mistakes apart.
TELLING_ASPECTS = (Aspect.VALUES, Aspect.GENERALITY)
# Of numerics, only answers that are not finite tell a mistake.
WATCHED_ASPECTS = (*TELLING_ASPECTS, Aspect.NUMERICS)


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake that explains an exercise, and the tests that it explains."""

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
    """Returns the one mistake that explains each exercise's answers, by exercise.

    A mistake found in one exercise helps to read answers that are unclear by themselves. Some
    mistakes sit in a part that other exercises build on. Such a mistake is explained once, where
    it first appears, and the others say so. Exercises that miss the deadline are left out, and so
    are those of which something else that was seen `contradicts` the mistake.
    """
    found: dict[str, Finding] = {}
    with contextlib.suppress(TooLate):
        for exercise, seen in deadline.each(observations.items()):
            named = {finding.diagnosis.mistake for finding in found.values()}
            finding = _finding(catalogue, seen, named, deadline)
            if finding is not None and not contradicts(exercise, finding.diagnosis.mistake):
                found[exercise] = finding
        named = {finding.diagnosis.mistake for finding in found.values()}
        for exercise in observations.keys() - found.keys() if named else ():
            finding = _found_again(catalogue, observations[exercise], named, deadline)
            if finding is not None:
                found[exercise] = finding
    return _at_the_root({name: found[name] for name in observations if name in found})


def is_right(catalogue: Catalogue, observation: Observation) -> bool | None:
    """Returns whether an answer is the reference's; None if that is not known."""
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
) -> Finding | None:
    """Returns the mistake that explains an exercise, or the one `named` elsewhere if several do."""
    evidence = _evidence(catalogue, observations, TELLING_CASES)
    if evidence is None:
        return None
    known = [
        name
        for name in _known_for_some(catalogue, evidence.wrong, TELLING_CASES)
        if name in named or not catalogue.echoes(name, evidence.wrong[0])
    ]
    alone = [name for name in known if "+" not in name]
    fitting = _fitting(catalogue, deadline.each(alone), evidence, TELLING_CASES)
    if fitting and fitting.keys().isdisjoint(named):
        # Two mistakes that were found elsewhere may answer as a third one does.
        both = [name for name in known if "+" in name and named >= {*name.split(" + ")}]
        fitting = _fitting(catalogue, deadline.each(both), evidence, TELLING_CASES) or fitting
    if not fitting:
        same = _indifferent(catalogue, evidence.wrong, deadline)
        if same is not None:
            tests = frozenset(one.test for one in evidence.wrong)
            return Finding(catalogue.diagnosis(same, evidence.wrong[0]), tests)
        together = [name for name in known if "+" in name]
        fitting = _fitting(catalogue, deadline.each(together), evidence, TELLING_CASES)
    if len(fitting) > 1:
        fitting = {name: fitting[name] for name in fitting if name in named}
    return _explaining(catalogue, fitting, evidence, observations)


def _found_again(
    catalogue: Catalogue,
    observations: Sequence[Observation],
    named: Collection[str],
    deadline: Deadline,
) -> Finding | None:
    """Returns the mistake of another exercise that explains this one, too."""
    enough = _TELLING_CASES_OF_A_FOUND_ONE
    evidence = _evidence(catalogue, observations, enough)
    if evidence is None:
        return None
    known = [one for one in _known_for_some(catalogue, evidence.wrong, enough) if one in named]
    fitting = _fitting(catalogue, deadline.each(known), evidence, enough)
    return _explaining(catalogue, fitting, evidence, observations)


def _evidence(
    catalogue: Catalogue, observations: Sequence[Observation], enough: int
) -> TellingAnswers | None:
    """Returns the plainest answers among which enough are wrong.

    First those of which tests compared the numbers, then those of another shape as well, then
    those that are no numbers where numbers are large.
    """
    plain = [one for one in observations if one.aspect in TELLING_ASPECTS and catalogue.right(one)]
    shaped = [one for one in plain if not one.refused]
    strange = [
        one
        for one in observations
        if one.aspect is Aspect.NUMERICS
        and catalogue.right(one)
        and not bool(one.value.isfinite().all())
    ]
    for telling in (shaped, plain, plain + strange):
        wrong = [one for one in telling if not _agrees(one, catalogue.right(one), 1)]
        if len(wrong) >= enough:
            return TellingAnswers(telling, wrong)
    return None


def _known_for_some(
    catalogue: Catalogue, wrong: Sequence[Observation], enough: int
) -> Sequence[str]:
    """Returns the mistakes that are known for as many wrong answers as it takes to name one."""
    known = Counter(name for one in wrong for name in catalogue.names(one))
    return [name for name, count in known.items() if count >= enough]


def _fitting(
    catalogue: Catalogue, names: Iterable[str], evidence: TellingAnswers, enough: int
) -> dict[str, set[int]]:
    """Returns those of the named mistakes that give every given answer, with their variants.

    Only the variants that give every answer are included.
    """
    fitting = {name: _fitting_variants(catalogue, name, evidence, enough) for name in names}
    return {name: variants for name, variants in fitting.items() if variants}


def _fitting_variants(
    catalogue: Catalogue, name: str, evidence: TellingAnswers, enough: int
) -> set[int]:
    """Returns the numeric variants of a mistake that give every answer that was given, where known.

    The wrong answers are looked at first: they rule out most mistakes at once.
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
                if _tells(predictions[number])
                and _errs(catalogue, observation, predictions[number])
            )
    return {number for number in fitting or () if told[number] >= enough}


def _indifferent(
    catalogue: Catalogue, wrong: Sequence[Observation], deadline: Deadline
) -> str | None:
    """Returns the mistake by which answers do not depend on what they should depend on.

    Two calls of one test that differ in nothing else have the same wrong answer. One that is the
    same number throughout, or an input as it came, depends on nothing at all.
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
        changed = {name for name in arguments if _differ(name, one, other)}
        for name, ignored in catalogue.ignored(one).items():
            if changed and changed == {argument for argument in arguments if argument in ignored}:
                return name
    return None


def _is_same(value: torch.Tensor, given: torch.Tensor) -> bool:
    return value.dtype == given.dtype and torch.equal(value, given)


def _is_constant(value: torch.Tensor) -> bool:
    return value.numel() > 1 and bool((value == value.flatten()[0]).all())


def _differ(argument: str, one: Observation, other: Observation) -> bool:
    first = as_tensor(one.call.arguments[argument])
    second = as_tensor(other.call.arguments.get(argument))
    return first.dtype != second.dtype or not torch.equal(first, second)


def _explaining(
    catalogue: Catalogue,
    fitting: Mapping[str, set[int]],
    evidence: TellingAnswers,
    observations: Iterable[Observation],
) -> Finding | None:
    """Returns the one mistake that fits, with the tests whose wrong answer is the mistake's.

    A wrong answer counts as well if the mistake's answer is not known.
    """
    if len(fitting) != 1:
        return None
    ((name, variants),) = fitting.items()
    variant = min(variants)
    explained = set()
    for one in observations:
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
    """Returns whether a predicted answer is wrong, and far from the right answer."""
    right = catalogue.right(observation)
    if prediction is None or right is None:
        return False
    return not right.is_like(prediction, observation, _APART)


def _tells(prediction: Prediction | None) -> bool:
    return prediction is not None and prediction.tells


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
