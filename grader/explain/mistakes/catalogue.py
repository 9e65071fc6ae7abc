"""The catalogue that the explainer asks for the known mistakes of an assignment."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from grader.core.verdict import Diagnosis
from grader.explain.layouts import Steps
from grader.testing.outcome import Observation, Prediction

# The name of the right answers among those of the mistakes.
RIGHT = ""


class Catalogue(Protocol):
    """The known mistakes of an assignment, and the answers that code with them gives."""

    def names(self, observation: Observation) -> Sequence[str]:
        """Returns the mistakes known for a call, then pairs of mistakes (`a + b`)."""

    def predictions(self, name: str, observation: Observation) -> Sequence[Prediction | None]:
        """Returns each numeric variant's answer to a call; None for a variant without one."""

    def right(self, observation: Observation) -> Prediction | None:
        """Returns the right answer that was given, else the reference's; None if not known."""
        known = [one for one in self.predictions(RIGHT, observation) if one is not None]
        given = (one for one in known if observation.is_as(one, 1))
        return next(given, known[0] if known else None)

    def ignored(self, observation: Observation) -> Mapping[str, Collection[str]]:
        """Returns, by mistake, the arguments that an answer with the mistake ignores."""

    def echoes(self, name: str, observation: Observation) -> bool:
        """Returns whether a mistake looks like another one in a call's exercise."""

    def diagnosis(self, name: str, observation: Observation) -> Diagnosis:
        """Returns the mistake's explanation and hint."""

    def steps(self, observation: Observation) -> Steps | None:
        """Returns the steps of the reference to its answer to a call; None if not known."""

    def fixed_steps(self, observation: Observation) -> Collection[str]:
        """Returns the steps to an answer that are equal whatever numbers the inputs hold."""
