"""What is known of mistakes, wherever it is kept: in `solutions/` or in frozen fixtures."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from grader.core.verdict import Diagnosis
from grader.explain.layouts import Steps
from grader.testing.observation import Observation, Prediction


class Catalogue(Protocol):
    """The known mistakes of an assignment, and what they would have answered."""

    def names(self, observation: Observation) -> Sequence[str]:
        """The mistakes that are known for a call, then those made together (`a + b`)."""

    def predictions(self, name: str, observation: Observation) -> Sequence[Prediction | None]:
        """What each numeric variant of a mistake answers to a call; None where it cannot."""

    def right(self, observation: Observation) -> Prediction | None:
        """What the reference answers to a call; None if that is not known."""

    def ignored(self, observation: Observation) -> Mapping[str, Collection[str]]:
        """By mistake, the arguments on which an answer with that mistake does not depend."""

    def echoes(self, name: str, observation: Observation) -> bool:
        """Whether a mistake looks like another one in a call's exercise."""

    def diagnosis(self, name: str, observation: Observation) -> Diagnosis:
        """The mistake's explanation and hint."""

    def steps(self, observation: Observation) -> Steps | None:
        """The steps that the reference takes to its answer to a call; None if not known."""
