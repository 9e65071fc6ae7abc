"""Finds the line at which a failed exercise goes astray, by calling it once more and looking on."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import torch

from grader.explaining.deadline import NEVER, Deadline, TooLate
from grader.explaining.lines.astray import (
    STRANGE,
    Astray,
    astray,
    first_strange,
    line_of_answer,
    line_of_draw,
)
from grader.explaining.lines.blame import Proof, proof_of
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
# Of calls that tell nothing, more are made.
_MOST_TRIED = 9
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
    ones. Those that are not among `failed` passed every test, so that their lines are right. What
    is not found by the deadline is left out.
    """
    if not failed:
        return {}
    looking = _Looking(catalogue, ask, deadline)
    roots: dict[str, Astray] = {}
    located: dict[str, Astray] = {}
    with contextlib.suppress(TooLate):
        for exercise, answers in deadline.each(seen.items()):
            if exercise not in failed:
                looking.learn(answers)
                continue
            tests = failed[exercise]
            wrong = [
                one for one in answers if one.test in tests and is_right(catalogue, one) is False
            ]
            finding = findings.get(exercise)
            if finding is not None and finding.variant is not None:
                explained = [one for one in wrong if one.test in finding.tests]
                place = looking.for_mistake(explained, finding, roots.get(finding.name))
                if place is not None:
                    roots.setdefault(finding.name, place)
                    located |= dict.fromkeys(finding.tests, place)
                # What else is wrong can be told once that mistake is mended.
                continue
            for test, place in looking.for_others(wrong):
                located[test] = place
    return located


class _Looking:
    """Looks on at calls of one submission; whatever it does raises TooLate after the deadline."""

    def __init__(self, catalogue: Catalogue, ask: Ask, deadline: Deadline) -> None:
        self._catalogue = catalogue
        self._ask = ask
        self._deadline = deadline
        self._proven: list[Proof] = []

    def learn(self, answers: Sequence[Observation]) -> None:
        """What functions show on the way to a right answer, the one with the most steps."""
        plain = [one for one in answers if one.aspect is Aspect.VALUES]
        told = [(right, one) for one in plain if (right := self._catalogue.steps("", 0, one))]
        if told:
            right, one = min(told, key=lambda pair: (-len(pair[0]), _size(pair[1])))
            self._proven += proof_of(self._recorded(one), right, self._deadline)

    def for_mistake(
        self, wrong: Sequence[Observation], finding: Finding, root: Astray | None
    ) -> Astray | None:
        """Where a known mistake is made: at the `root` where it was found, if that is passed."""
        name, variant = finding.name, finding.variant or 0
        steps = self._catalogue.steps
        ordered = sorted(wrong, key=_size)
        telling = [
            (one, right, mistaken)
            for one in self._deadline.each(ordered[:_MOST_LOOKED_AT])
            if (right := steps("", 0, one)) and (mistaken := steps(name, variant, one))
        ]
        if telling:
            one, right, mistaken = min(telling, key=_hard_to_tell)
            records = self._recorded(one)
            shows_at = self._catalogue.shows_at(name, one)
            place = astray_by_mistake(
                records, _given(one), right, mistaken, shows_at, self._proven, self._deadline
            )
            passed = {line for record in records for line in record.stack}
            if place is not None and root is not None and root.line in passed:
                return dataclasses.replace(place, line=root.line)
            if place is not None:
                return place
        strange = [one for one in ordered if not bool(one.value.isfinite().all())]
        found = [first_strange(self._recorded(one)) for one in strange[:_MOST_CALLS]]
        places = [place for place in found if place is not None]
        if places:
            return Astray(STRANGE, min(places, key=lambda place: place[0])[1])
        return self._of_itself(ordered[0], name) if ordered else None

    def for_others(self, wrong: Sequence[Observation]) -> Iterator[tuple[str, Astray]]:
        """Tests whose mistake is not known, and where they go astray: a few of them."""
        found = tried = 0
        for one in {one.test: one for one in reversed(wrong)}.values():
            if found == _MOST_CALLS or tried == _MOST_TRIED:
                break
            right = self._catalogue.steps("", 0, one)
            strange = not bool(one.value.isfinite().all())
            if right is None or not (strange or one.aspect in TELLING_ASPECTS):
                continue
            tried += 1
            place = self._of_other(one, right, strange)
            if place is not None:
                found += 1
                yield one.test, place

    def _of_other(self, one: Observation, right: Steps, strange: bool) -> Astray | None:
        records = self._recorded(one)
        found = first_strange(records) if strange else None
        if found is not None:
            return Astray(STRANGE, found[1])
        return astray(records, _given(one), right, self._proven, self._deadline)

    def _of_itself(self, observation: Observation, name: str) -> Astray | None:
        """Where an answer comes from, if chance has a part or if a reference names no steps."""
        catalogue = self._catalogue
        is_of_chance = isinstance(catalogue.right(observation), Dropped)
        if not is_of_chance and {*(catalogue.steps("", 0, observation) or {})} != {RESULT}:
            return None
        answer = self._answer(observation)
        if answer is None or not isinstance(answer.value, torch.Tensor):
            return None
        given = _given(observation)
        line = line_of_answer(answer.records, given, answer.value, self._deadline)
        if is_of_chance and catalogue.shows_at(name, observation) is not None:
            line = line_of_draw(answer.records, answer.value, self._deadline) or line
        return None if line is None else Astray(RESULT, line)

    def _recorded(self, observation: Observation) -> tuple[Record, ...]:
        answer = self._answer(observation)
        return () if answer is None else answer.records

    def _answer(self, observation: Observation) -> Answer | None:
        """The answer to the same call, made once more and looked on at.

        Raises:
            TooLate: if the deadline has passed.
        """
        if self._deadline.passed:
            raise TooLate
        try:
            return self._ask(dataclasses.replace(observation.call, record=True, frame=None))
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
