"""The course's known mistakes, computed when a submission is wrong."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from grader.testing.course import make_importable
from grader.testing.diagnosis import Observation
from grader.testing.handle import in_float64
from grader.verdict import Diagnosis

Variants = Sequence[Callable[..., Any]]
_RIGHT = ""


class KnownMistakes:
    """The mistakes in `solutions.mistakes`, alone and in pairs; a `Catalogue`.

    What a variant answers to a test's call is computed once and kept: every submission of a batch
    is asked the same.
    """

    def __init__(self, references: Mapping[str, Callable[..., Any]], module: Any = None) -> None:
        right = {name: (function,) for name, function in references.items()}
        self._variants: dict[str, Mapping[str, Variants]] = {_RIGHT: right}
        self._diagnoses: dict[str, Diagnosis] = {}
        self._kept: dict[tuple[str, str, int], tuple[torch.Tensor | None, ...]] = {}
        if module is not None:
            self._load(module)

    def names(self, observation: Observation) -> Sequence[str]:
        """The mistakes that are known for a call, then pairs of them."""
        return self.of_exercise(observation.call.adapter)

    def of_exercise(self, exercise: str) -> Sequence[str]:
        """The mistakes that an exercise knows, then pairs of them."""
        return [name for name in self._diagnoses if exercise in self._variants[name]]

    def of(self, name: str, exercise: str) -> Variants:
        """The functions that make a mistake in an exercise."""
        return self._variants[name].get(exercise, ())

    def outputs(self, name: str, observation: Observation) -> Sequence[torch.Tensor | None]:
        """What each numeric variant of a mistake answers to a call."""
        return self.answers(name, observation)

    def right(self, observation: Observation) -> torch.Tensor | None:
        """What the reference answers to a call."""
        answers = self.answers(_RIGHT, observation)
        return answers[0] if answers else None

    def comparable(self, answer: torch.Tensor) -> torch.Tensor:
        """The answer itself: every number of it is compared."""
        return answer

    def diagnosis(self, name: str, _observation: Observation | None = None) -> Diagnosis:
        """The explanation and hint of a mistake, or of two made together."""
        return self._diagnoses[name]

    def _load(self, module: Any) -> None:
        for mistake in module.MISTAKES:
            self._variants[mistake.id] = mistake.variants
            self._diagnoses[mistake.id] = Diagnosis(mistake.id, mistake.explanation, mistake.hint)
        for one, other in itertools.combinations(module.MISTAKES, 2):
            both = module.combined(one, other)
            if both:
                name = f"{one.id} + {other.id}"
                self._variants[name] = both
                self._diagnoses[name] = Diagnosis(
                    name,
                    f"Two things at once: {one.explanation} {other.explanation}",
                    f"{one.hint} {other.hint}",
                )

    def answers(self, name: str, observation: Observation) -> Sequence[torch.Tensor | None]:
        """What each variant of a mistake, or the reference (no name), answers to a call."""
        key = (name, observation.test, observation.number)
        if key not in self._kept:
            functions = self._variants[name].get(observation.call.adapter, ())
            self._kept[key] = tuple(_answer(function, observation) for function in functions)
        return self._kept[key]


def load_mistakes(root: Path, references: Mapping[str, Callable[..., Any]]) -> KnownMistakes:
    """The mistakes of the assignment in `root`; none if its author wrote none down."""
    make_importable(root)
    known = importlib.util.find_spec("solutions.mistakes") is not None
    module = importlib.import_module("solutions.mistakes") if known else None
    return KnownMistakes(references, module)


def _answer(function: Callable[..., Any], observation: Observation) -> torch.Tensor | None:
    arguments = {name: in_float64(v) for name, v in observation.call.arguments.items()}
    try:
        result = function(**arguments)
    except Exception:  # a mistake may not fit a case at all
        return None
    return result.detach() if isinstance(result, torch.Tensor) else torch.tensor(result)
