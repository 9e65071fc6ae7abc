"""Clusters of equal wrong answers that match no known mistake."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grader.core.explanation import WrongAnswer, WrongAnswers

# Summing in another order moves values slightly; a mistake may magnify that.
LENIENCY = 5


@dataclass(slots=True)
class AnswerCluster:
    """Submissions with the same wrong answers to an exercise; `answers` are those of the first.

    `members` holds the submissions' names, in the order of the class. `also` holds clusters of the
    same submissions in other exercises, with the same suspected line.
    """

    exercise: str
    answers: WrongAnswers
    members: list[str] = field(default_factory=list)
    also: list[AnswerCluster] = field(default_factory=list)
    _suspicions: Counter[str] = field(default_factory=Counter)

    def add(self, submission: str, answers: WrongAnswers) -> None:
        """Adds a submission with the same answers."""
        self.members.append(submission)
        if answers.suspicion:
            self._suspicions[answers.suspicion] += 1

    @property
    def id(self) -> str:
        """Returns a short hash of the rounded answers, which seldom differs from class to class."""
        told = [self.exercise, *(_rounded(one) for one in self.answers.answers)]
        return hashlib.sha256(repr(told).encode()).hexdigest()[:6]

    @property
    def tests(self) -> list[str]:
        """Returns the tests in which the answers are wrong."""
        return list(dict.fromkeys(one.test for one in self.answers.answers))

    @property
    def smallest(self) -> WrongAnswer:
        """Returns the wrong answer to the smallest inputs."""
        return min(self.answers.answers, key=lambda one: one.size)

    @property
    def suspicion(self) -> str | None:
        """Returns the most frequent suspicion among the members, or None."""
        return next((said for said, _ in self._suspicions.most_common(1)), None)


def clusters_of(wrong: Mapping[str, Sequence[WrongAnswers]]) -> list[AnswerCluster]:
    """Returns the clusters of a class, the largest first.

    A submission with answers that no other gave is a cluster of one.
    """
    by_exercise: dict[str, list[AnswerCluster]] = {}
    place = {submission: number for number, submission in enumerate(wrong)}
    for submission, own in wrong.items():
        for answers in own:
            clusters = by_exercise.setdefault(answers.exercise, [])
            cluster = next((it for it in clusters if it.answers.is_like(answers, LENIENCY)), None)
            if cluster is None:
                cluster = AnswerCluster(answers.exercise, answers)
                clusters.append(cluster)
            cluster.add(submission, answers)
    found = [cluster for clusters in by_exercise.values() for cluster in clusters]

    def order(cluster: AnswerCluster) -> tuple[int, int, int]:
        """Returns the sorting key: size, first member, place of the exercise in the assignment."""
        first = cluster.members[0]
        exercises = [one.exercise for one in wrong[first]]
        return -len(cluster.members), place[first], exercises.index(cluster.exercise)

    return _together(sorted(found, key=order))


def _together(clusters: Sequence[AnswerCluster]) -> list[AnswerCluster]:
    """Returns the clusters, with later ones of the same cause moved into the first's `also`."""
    firsts: list[AnswerCluster] = []
    suspected: dict[str, list[AnswerCluster]] = defaultdict(list)
    for cluster in clusters:
        alike = suspected[cluster.suspicion] if cluster.suspicion is not None else []
        first = next((one for one in alike if _is_of_one_cause(cluster, one)), None)
        if first is None:
            firsts.append(cluster)
            alike.append(cluster)
        else:
            first.also.append(cluster)
    return firsts


def _is_of_one_cause(cluster: AnswerCluster, first: AnswerCluster) -> bool:
    """Returns whether a cluster with the same suspicion belongs to a larger one."""
    other_exercise = cluster.exercise not in {one.exercise for one in (first, *first.also)}
    return other_exercise and {*cluster.members} <= {*first.members}


def _rounded(answer: WrongAnswer) -> object:
    """Returns an answer with rounded values, which other summation orders rarely change."""
    rounded = [f"{one:.1e}" if math.isfinite(one) else str(one) for one in answer.numbers]
    return (*answer.key, answer.shape, rounded)
