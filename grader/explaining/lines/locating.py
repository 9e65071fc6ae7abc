"""Finds the line at which a failed exercise goes astray, by calling it once more and looking on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence

import torch

from grader.explaining.deadline import NEVER, Deadline
from grader.explaining.lines.astray import (
    STRANGE,
    Astray,
    astray,
    first_strange,
    line_of_answer,
    line_of_draw,
)
from grader.explaining.lines.blame import Proof, Proven, proof_of
from grader.explaining.lines.layouts import RESULT, Steps
from grader.explaining.lines.mistaken import astray_by_mistake, confusable
from grader.explaining.naming.catalogue import Catalogue
from grader.explaining.naming.chance import Dropped
from grader.explaining.naming.diagnosis import TELLING_ASPECTS, Finding, is_right
from grader.testing.observation import Observation
from grader.testing.outcome import StudentFault
from grader.verdict import Aspect
from grader.wire.calls import Answer, Call
from grader.wire.records import Record

_MOST_CALLS = 3
_MOST_LOOKED_AT = 6

Seen = Mapping[str, Sequence[Observation]]
Ask = Callable[[Call], Answer]


def locate(
    catalogue: Catalogue,
    ask: Ask,
    seen: Seen,
    findings: Mapping[str, Finding],
    failed: Mapping[str, Collection[str]],
    deadline: Deadline = NEVER,
) -> dict[str, Astray]:
    """Where the failed tests of each exercise go astray, by test, as far as that can be told.

    `seen` are all answers by exercise, in the assignment's order: later exercises build on earlier
    ones. Those that are not among `failed` passed every test, so that their lines are right.
    """
    if not failed:
        return {}
    proven: list[Proof] = []
    roots: dict[str, Astray] = {}
    located: dict[str, Astray] = {}
    for exercise, answers in seen.items():
        if deadline.is_over:
            break
        if exercise not in failed:
            proven += _proof(catalogue, ask, answers)
            continue
        tests = failed[exercise]
        wrong = [one for one in answers if one.test in tests and is_right(catalogue, one) is False]
        finding = findings.get(exercise)
        if finding is not None and finding.variant is not None:
            explained = [one for one in wrong if one.test in finding.tests]
            root = roots.get(finding.name)
            place = _of_mistake(catalogue, ask, explained, finding, proven, root)
            if place is not None:
                roots.setdefault(finding.name, place)
                located |= dict.fromkeys(finding.tests, place)
            # What else is wrong can be told once that mistake is mended.
            continue
        located |= _of_others(catalogue, ask, wrong, proven)
    return located


def _of_mistake(
    catalogue: Catalogue,
    ask: Ask,
    wrong: Sequence[Observation],
    finding: Finding,
    proven: Proven,
    root: Astray | None,
) -> Astray | None:
    """Where a known mistake is made: at the `root` where it was found, if that is passed here."""
    name, variant = finding.name, finding.variant or 0
    ordered = sorted(wrong, key=_size)
    telling = [
        (one, right, mistaken)
        for one in ordered[:_MOST_LOOKED_AT]
        if (right := catalogue.steps("", 0, one))
        and (mistaken := catalogue.steps(name, variant, one))
    ]
    if telling:
        one, right, mistaken = min(telling, key=_hard_to_tell)
        records = _recorded(ask, one)
        shows_at = catalogue.shows_at(name, one)
        place = astray_by_mistake(records, _given(one), right, mistaken, shows_at, proven)
        passed = {line for record in records for line in record.stack}
        if place is not None and root is not None and root.line in passed:
            return dataclasses.replace(place, line=root.line)
        if place is not None:
            return place
    strange = [one for one in ordered if not bool(one.value.isfinite().all())]
    found = [first_strange(_recorded(ask, one)) for one in strange[:_MOST_CALLS]]
    places = [place for place in found if place is not None]
    if places:
        return Astray(STRANGE, min(places, key=lambda place: place[0])[1])
    return _of_itself(catalogue, ask, ordered[0], name) if ordered else None


def _of_itself(
    catalogue: Catalogue, ask: Ask, observation: Observation, name: str
) -> Astray | None:
    """Where an answer comes from, if chance has a part in it or if a reference names no steps."""
    is_of_chance = isinstance(catalogue.right(observation), Dropped)
    if not is_of_chance and {*(catalogue.steps("", 0, observation) or {})} != {RESULT}:
        return None
    answer = _asked(ask, observation)
    if answer is None or not isinstance(answer.value, torch.Tensor):
        return None
    line = line_of_answer(answer.records, _given(observation), answer.value)
    if is_of_chance and catalogue.shows_at(name, observation) is not None:
        line = line_of_draw(answer.records, answer.value) or line
    return None if line is None else Astray(RESULT, line)


def _of_others(
    catalogue: Catalogue, ask: Ask, wrong: Sequence[Observation], proven: Proven
) -> dict[str, Astray]:
    located: dict[str, Astray] = {}
    for one in {one.test: one for one in reversed(wrong)}.values():
        if len(located) == _MOST_CALLS:
            break
        right = catalogue.steps("", 0, one)
        strange = not bool(one.value.isfinite().all())
        if right is None or not (strange or one.aspect in TELLING_ASPECTS):
            continue
        records = _recorded(ask, one)
        found = first_strange(records) if strange else None
        place = Astray(STRANGE, found[1]) if found else astray(records, _given(one), right, proven)
        if place is not None:
            located[one.test] = place
    return located


def _proof(catalogue: Catalogue, ask: Ask, answers: Sequence[Observation]) -> list[Proof]:
    """What functions show on the way to a right answer, the one with the most steps."""
    plain = [one for one in answers if one.aspect is Aspect.VALUES]
    told = [(right, one) for one in plain if (right := catalogue.steps("", 0, one))]
    if not told:
        return []
    right, one = min(told, key=lambda pair: (-len(pair[0]), _size(pair[1])))
    return proof_of(_recorded(ask, one), right)


def _recorded(ask: Ask, observation: Observation) -> tuple[Record, ...]:
    answer = _asked(ask, observation)
    return () if answer is None else answer.records


def _asked(ask: Ask, observation: Observation) -> Answer | None:
    try:
        return ask(dataclasses.replace(observation.call, record=True, frame=None))
    except StudentFault:
        return None


def _given(observation: Observation) -> list[torch.Tensor]:
    return [one for one in observation.call.arguments.values() if isinstance(one, torch.Tensor)]


def _size(observation: Observation) -> tuple[bool, int, float]:
    """Plain cases first, and of those the smallest: of numbers that with the least to count."""
    value = observation.value
    number = float(value) if value.dim() == 0 else 0.0
    return observation.aspect is not Aspect.VALUES, value.numel(), number


def _hard_to_tell(of: tuple[Observation, Steps, Steps]) -> tuple[int, int]:
    """In how many steps a mistake looks like something right; else fewer numbers tell less."""
    one, right, mistaken = of
    return confusable(right, mistaken, _given(one)), -one.value.numel()
