"""Which submissions answer alike, by what they answer and not by their text."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grader.core.evidence import Excerpt
from grader.core.wrong_answers import WrongAnswer, WrongAnswers

# Sums in another order move numbers; a mistake may magnify that.
LENIENCY = 5


@dataclass(slots=True)
class AnswerCluster:
    """Submissions whose wrong answers to an exercise are the same; the first stands for all.

    `members` are their names, in the order of the class; `also` are groups of the same submissions
    in other exercises, of which the same line is suspected.
    """

    exercise: str
    answers: WrongAnswers
    members: list[str] = field(default_factory=list)
    also: list[AnswerCluster] = field(default_factory=list)
    _suspicions: Counter[str] = field(default_factory=Counter)
    _sources: list[tuple[str, Excerpt]] = field(default_factory=list)

    def add(self, submission: str, answers: WrongAnswers) -> None:
        """Adds a submission that answers like the first."""
        self.members.append(submission)
        if answers.suspicion:
            self._suspicions[answers.suspicion] += 1
        if answers.source is not None:
            self._sources.append((submission, answers.source))

    @property
    def id(self) -> str:
        """A short name that follows from the answers: the same in every class that gives them."""
        told = [self.exercise, *(_told(one) for one in self.answers.answers)]
        return hashlib.sha256(repr(told).encode()).hexdigest()[:6]

    @property
    def tests(self) -> list[str]:
        """The tests in which the answers are wrong."""
        return list(dict.fromkeys(one.test for one in self.answers.answers))

    @property
    def smallest(self) -> WrongAnswer:
        """The wrong answer to the fewest numbers."""
        return min(self.answers.answers, key=lambda one: one.size)

    @property
    def suspicion(self) -> str | None:
        """What may be wrong, as most of them have it."""
        return next((said for said, _ in self._suspicions.most_common(1)), None)

    @property
    def sources(self) -> list[tuple[str, Excerpt]]:
        """The lines of two submissions, unlike each other if there are such."""
        if not self._sources:
            return []
        name, first = self._sources[0]
        others = self._sources[1:]
        other = next((one for one in others if one[1].lines != first.lines), None)
        return [(name, first), *([other] if other else others[:1])]


def groups_of(wrong: Mapping[str, Sequence[WrongAnswers]]) -> list[AnswerCluster]:
    """The groups of a class, the largest first; who answers like nobody else is a group alone."""
    by_exercise: dict[str, list[AnswerCluster]] = {}
    place = {submission: number for number, submission in enumerate(wrong)}
    for submission, own in wrong.items():
        for answers in own:
            groups = by_exercise.setdefault(answers.exercise, [])
            group = next((it for it in groups if it.answers.is_like(answers, LENIENCY)), None)
            if group is None:
                group = AnswerCluster(answers.exercise, answers)
                groups.append(group)
            group.add(submission, answers)
    found = [group for groups in by_exercise.values() for group in groups]
    # The exercises of one submission are in the assignment's order.

    def order(group: AnswerCluster) -> tuple[int, int, int]:
        """The largest first; of one submission's, as the exercises come in the assignment."""
        first = group.members[0]
        exercises = [one.exercise for one in wrong[first]]
        return -len(group.members), place[first], exercises.index(group.exercise)

    return _together(sorted(found, key=order))


def _together(groups: Sequence[AnswerCluster]) -> list[AnswerCluster]:
    """The groups, those of one cause under the first of them."""
    firsts: list[AnswerCluster] = []
    for group in groups:
        first = next((one for one in firsts if _is_of_one_cause(group, one)), None)
        (firsts if first is None else first.also).append(group)
    return firsts


def _is_of_one_cause(group: AnswerCluster, first: AnswerCluster) -> bool:
    other_exercise = group.exercise not in {one.exercise for one in (first, *first.also)}
    same = group.suspicion is not None and group.suspicion == first.suspicion
    return other_exercise and same and {*group.members} <= {*first.members}


def _told(answer: WrongAnswer) -> object:
    """What of an answer every summation order leaves alone, nearly always."""
    rounded = [f"{one:.1e}" if math.isfinite(one) else str(one) for one in answer.numbers]
    return (*answer.key, answer.shape, rounded)
