"""The course's known mistakes at home: samples of their answers were frozen with the tests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import torch

from grader.core.verdict import Diagnosis
from grader.explain.layouts import Steps
from grader.explain.mistakes.predictions import prediction_of
from grader.testing.frozen_cases import FrozenModule, FrozenTest
from grader.testing.observation import Observation, Prediction

_RIGHT = ""


class FrozenMistakes:
    """The mistakes that were frozen beside the public tests; a `Catalogue`."""

    def __init__(self, module_of: Callable[[str], FrozenModule]) -> None:
        self._module_of = module_of

    def names(self, observation: Observation) -> Sequence[str]:
        """The mistakes that are known for a call, then those made together."""
        rows, known = self._rows(observation)
        return [name for name in dict.fromkeys(known[: len(rows)]) if name != _RIGHT]

    def predictions(self, name: str, observation: Observation) -> Sequence[Prediction | None]:
        """Samples of what each numeric variant of a mistake answers to a call."""
        rows, known = self._rows(observation)
        dropped_from = self._module(observation).dropped_from.get(observation.call.adapter)
        return [
            prediction_of(row, dropped_from)
            for row, mistake in zip(rows, known, strict=False)
            if mistake == name
        ]

    def right(self, observation: Observation) -> Prediction | None:
        """A sample of what the reference answers to a call."""
        predictions = self.predictions(_RIGHT, observation)
        return predictions[0] if predictions else None

    def ignored(self, observation: Observation) -> Mapping[str, Collection[str]]:
        """By mistake, the arguments on which an answer with that mistake does not depend."""
        return self._module(observation).ignored_by

    def echoes(self, name: str, observation: Observation) -> bool:
        """Whether a mistake looks like another one in a call's exercise."""
        return observation.call.adapter in self._module(observation).echoed_in.get(name, ())

    def diagnosis(self, name: str, observation: Observation) -> Diagnosis:
        """The explanation and hint of a mistake, or of two made together."""
        return self._module(observation).diagnoses[name]

    def steps(self, observation: Observation) -> Steps | None:
        """The steps that the reference takes to its answer to a call, if they were frozen."""
        test = self._test(observation)
        return None if test is None else test.steps.get(observation.number)

    def _rows(self, observation: Observation) -> tuple[torch.Tensor, Sequence[str]]:
        module, test = self._module(observation), self._test(observation)
        rows = None if test is None else test.answers.get(observation.number)
        known = module.mistakes.get(observation.call.adapter, ())
        return torch.empty(0, 0) if rows is None else rows, known

    def _test(self, observation: Observation) -> FrozenTest | None:
        return self._module(observation).tests.get(observation.test.partition("::")[2])

    def _module(self, observation: Observation) -> FrozenModule:
        return self._module_of(observation.test.partition("::")[0])
