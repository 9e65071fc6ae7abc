"""The course's known mistakes at home: samples of their answers were frozen with the tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from grader.home.fixtures import FrozenModule, sample
from grader.testing.diagnosis import Observation
from grader.verdict import Diagnosis

_RIGHT = ""


class FrozenMistakes:
    """The mistakes that were frozen beside the public tests; a `Catalogue`."""

    def __init__(self, module_of: Callable[[str], FrozenModule]) -> None:
        self._module_of = module_of

    def names(self, observation: Observation) -> Sequence[str]:
        """The mistakes that are known for a call, then those made together."""
        rows, known = self._rows(observation)
        return [name for name in dict.fromkeys(known[: len(rows)]) if name != _RIGHT]

    def outputs(self, name: str, observation: Observation) -> Sequence[torch.Tensor | None]:
        """Samples of what each numeric variant of a mistake answers to a call."""
        rows, known = self._rows(observation)
        return [
            row[:-1] if row[-1] else None
            for row, mistake in zip(rows, known, strict=False)
            if mistake == name
        ]

    def right(self, observation: Observation) -> torch.Tensor | None:
        """A sample of what the reference answers to a call."""
        outputs = self.outputs(_RIGHT, observation)
        return outputs[0] if outputs else None

    def comparable(self, answer: torch.Tensor) -> torch.Tensor:
        """The sample of an answer."""
        return sample(answer).to(answer.dtype)

    def diagnosis(self, name: str, observation: Observation) -> Diagnosis:
        """The explanation and hint of a mistake, or of two made together."""
        return self._module(observation).diagnoses[name]

    def _rows(self, observation: Observation) -> tuple[torch.Tensor, Sequence[str]]:
        module = self._module(observation)
        test = module.tests.get(observation.test.partition("::")[2])
        rows = None if test is None else test.answers.get(observation.number)
        known = module.mistakes.get(observation.call.adapter, ())
        return torch.empty(0, 0) if rows is None else rows, known

    def _module(self, observation: Observation) -> FrozenModule:
        return self._module_of(observation.test.partition("::")[0])
