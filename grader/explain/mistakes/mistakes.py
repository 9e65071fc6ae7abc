"""The course's known mistakes; their answers are computed when a submission is wrong."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import itertools
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from grader.core.text import begun_small
from grader.core.verdict import Diagnosis
from grader.core.wire.calls import Call
from grader.core.wire.value_rows import as_tensor
from grader.core.wire.values import Value, mapped
from grader.explain.layouts import RESULT, Steps
from grader.explain.mistakes.catalogue import RIGHT, Catalogue
from grader.explain.mistakes.prediction import Numbers, dropped
from grader.testing.course import AND, course_code, listed_in, make_importable
from grader.testing.handles.handle import call_in_float64
from grader.testing.outcome import Observation, Prediction
from grader.worker.marshalling import copied
from grader.worker.performing import Living

Variants = Sequence[Callable[..., Any]]
NamedSteps = Callable[[Callable[..., Any], Mapping[str, Any]], Mapping[str, list[torch.Tensor]]]
# Bounds the memory: known steps hold copies of each step in many layouts.
_MOST_STEPS = 256
# One rounding error may be small by chance, so several are drawn.
_NUDGES = 4


class KnownMistakes(Catalogue):
    """The mistakes in `solutions.mistakes`, alone and in pairs.

    That module holds `MISTAKES`. It may hold `combined`, a function that returns the variants of
    two mistakes together, or none. It may also hold `DROPPED_FROM`: by exercise, the argument whose
    values a dropout sets to zero. A mistake has `id`, `explanation`, `hint` and `variants`, and may
    have these attributes:

    - `own_dtype`: its variants compute in the dtype of the inputs, because rounding or overflow
      matters.
    - `ignores`: the arguments on which its answers do not depend.
    - `echoes`: the exercises in which it looks like another mistake. There, the other mistake is
      reported unless this one was found elsewhere.

    A variant's answer to a test's call is computed once and kept, because every submission of a
    batch gets the same call. `named_steps` returns the steps of a reference for a call. `others`
    are right functions, by exercise, whose answers may differ from the reference's.
    """

    def __init__(
        self,
        references: Mapping[str, Callable[..., Any]],
        module: Any = None,
        named_steps: NamedSteps | None = None,
        others: Mapping[str, Variants] = MappingProxyType({}),
    ) -> None:
        self._references = references
        right = {name: (one, *others.get(name, ())) for name, one in references.items()}
        self._variants: dict[str, Mapping[str, Variants]] = {RIGHT: right}
        self._diagnoses: dict[str, Diagnosis] = {}
        self._named_steps = named_steps and functools.partial(_steps_in_reals, named_steps)
        self._in_own_dtype: set[str] = set()
        self._kept: dict[tuple[str, str, int], tuple[Prediction | None, ...]] = {}
        self._names: dict[str, Sequence[str]] = {}
        self._steps: OrderedDict[tuple[str, int], Steps | None] = OrderedDict()
        self.dropped_from: Mapping[str, str] = getattr(module, "DROPPED_FROM", {})
        self.ignored_by: dict[str, Collection[str]] = {}
        self.echoed_in: dict[str, Collection[str]] = {}
        if module is not None:
            self._load(module)

    def names(self, observation: Observation) -> Sequence[str]:
        """Returns the mistakes known for a call, then pairs of them."""
        return self.names_in(observation.call.adapter)

    def names_in(self, exercise: str) -> Sequence[str]:
        """Returns the mistakes known for an exercise, then pairs of them."""
        if exercise not in self._names:
            self._names[exercise] = [
                name for name in self._diagnoses if exercise in self._variants[name]
            ]
        return self._names[exercise]

    def variants(self, name: str, exercise: str) -> Variants:
        """Returns the functions that make a mistake in an exercise."""
        return self._variants[name].get(exercise, ())

    def predictions(self, name: str, observation: Observation) -> Sequence[Prediction | None]:
        """Returns each variant's answer to a call, or the right ones if the name is empty."""
        key = (name, observation.test, observation.number)
        if key not in self._kept:
            functions = self.variants(name, observation.call.adapter)
            self._kept[key] = tuple(self._predict(name, one, observation) for one in functions)
        return self._kept[key]

    def ignored(self, _observation: Observation) -> Mapping[str, Collection[str]]:
        """Returns, by mistake, the arguments that an answer with the mistake ignores."""
        return self.ignored_by

    def echoes(self, name: str, observation: Observation) -> bool:
        """Returns whether a mistake looks like another one in a call's exercise."""
        return observation.call.adapter in self.echoed_in.get(name, ())

    def diagnosis(self, name: str, _observation: Observation | None = None) -> Diagnosis:
        """Returns the explanation and hint of a mistake, or of a pair."""
        return self._diagnoses[name]

    def steps(self, observation: Observation) -> Steps | None:
        """Returns the steps of the reference, with its result as the last step."""
        key = (observation.test, observation.number)
        if key not in self._steps:
            self._steps[key] = self._computed_steps(observation.call)
        self._steps.move_to_end(key)
        if len(self._steps) > _MOST_STEPS:
            self._steps.popitem(last=False)
        return self._steps[key]

    def fixed_steps(self, observation: Observation) -> Collection[str]:
        """Returns the steps to an answer that are equal whatever numbers the inputs hold."""
        right, call = self.steps(observation), call_in_float64(observation.call)
        if right is None or self._named_steps is None:
            return ()
        function = self._references[call.adapter]
        move = functools.partial(_moved, generator=torch.Generator().manual_seed(0))
        others = {name: mapped(value, move) for name, value in call.arguments.items()}
        try:
            taken = self._named_steps(function, others)
        except Exception:  # a reference may refuse these numbers
            return ()
        return taken.keys() - _differing(taken, right)

    def _computed_steps(self, call: Call) -> Steps | None:
        if call.adapter in self.dropped_from or call.is_script:
            return None
        function = self._references[call.adapter]
        exactly = call_in_float64(call)
        result = self._answer(function, exactly)
        if result is None:
            return None
        steps: dict[str, Sequence[torch.Tensor]] = {}
        if self._named_steps is not None:
            steps |= self._named_steps(function, exactly.arguments)
        return steps | {RESULT: [result]}

    def _answer(self, function: Callable[..., Any], call: Call) -> torch.Tensor | None:
        """Returns a function's answer to a call, or None if the function raises.

        The function may call the references of other exercises.
        """
        functions = {**self._references, call.adapter: function}
        with torch.random.fork_rng(devices=[]):
            # torch.manual_seed would also queue a call, with its traceback, for missing devices.
            torch.default_generator.manual_seed(call.seed)
            try:
                with Living(functions) as living:
                    # A mistake may write into its inputs, which belong to all functions.
                    result = living.result(function, copied(dict(call.arguments)), call)
                    return as_tensor(result).detach()
            except Exception:  # a mistake may not fit a case at all
                return None

    def _depends_on_seed(
        self, function: Callable[..., Any], call: Call, exact: torch.Tensor
    ) -> bool:
        """Returns whether a function's answer changes with the seed."""
        again = self._answer(function, call_in_float64(replace(call, seed=call.seed + 1)))
        if again is None:
            return True
        one, other = (answer.double().nan_to_num() for answer in (exact, again))
        return not torch.equal(one, other)

    def _load(self, module: Any) -> None:
        for mistake in module.MISTAKES:
            self._variants[mistake.id] = mistake.variants
            self._diagnoses[mistake.id] = Diagnosis(mistake.id, mistake.explanation, mistake.hint)
            if getattr(mistake, "own_dtype", False):
                self._in_own_dtype.add(mistake.id)
            if getattr(mistake, "ignores", ()):
                self.ignored_by[mistake.id] = mistake.ignores
            if getattr(mistake, "echoes", ()):
                self.echoed_in[mistake.id] = mistake.echoes
        combined: Any = getattr(module, "combined", None)
        for one, other in itertools.combinations(module.MISTAKES, 2) if combined else ():
            if both := combined(one, other):
                name = f"{one.id}{AND}{other.id}"
                self._variants[name] = both
                self._diagnoses[name] = Diagnosis(
                    name,
                    f"Two mistakes: {begun_small(one.explanation)} {other.explanation}",
                    f"{one.hint} {other.hint}",
                )

    def _predict(
        self, name: str, function: Callable[..., Any], observation: Observation
    ) -> Prediction | None:
        call = observation.call
        exact = self._answer(function, call_in_float64(call))
        if exact is None:
            return None
        if call.adapter in self.dropped_from:
            return dropped(exact, call, self.dropped_from[call.adapter])
        if name == RIGHT and self._depends_on_seed(function, call, exact):
            return None
        if name not in self._in_own_dtype:
            return Numbers(exact)
        return _in_own_dtype(functools.partial(self._answer, function), call, exact)


def load_mistakes(root: Path, references: Mapping[str, Callable[..., Any]]) -> KnownMistakes:
    """Returns the mistakes of the assignment in `root`; none without `solutions.mistakes`.

    Raises:
        BadAssignment: if they cannot be imported or are invalid.
    """
    make_importable(root)
    with course_code("solutions/mistakes", root):
        known = importlib.util.find_spec("solutions.mistakes") is not None
        module = importlib.import_module("solutions.mistakes") if known else None
        named_steps = getattr(importlib.import_module("solutions"), "named_steps", None)
        others: dict[str, Variants] = {}
        for variant in listed_in("solutions.variants", "VARIANTS"):
            if getattr(variant, "other_answers", False):
                for name, function in variant.functions.items():
                    others[name] = (*others.get(name, ()), function)
        return KnownMistakes(references, module, named_steps, others)


def _steps_in_reals(
    named_steps: NamedSteps, function: Callable[..., Any], arguments: Mapping[str, Any]
) -> dict[str, list[torch.Tensor]]:
    """Returns named steps, with each complex number as a pair: as in the records of a call."""
    return {
        name: [torch.view_as_real(one.resolve_conj()) if one.is_complex() else one for one in forms]
        for name, forms in named_steps(function, arguments).items()
    }


def _in_own_dtype(
    answer: Callable[[Call], torch.Tensor | None], call: Call, exact: torch.Tensor
) -> Prediction | None:
    """Returns the prediction for an answer that rounding or overflow in the inputs' dtype changes.

    Rounding differs between processors. The values are therefore the exact ones, except for NaN
    and infinity in that dtype. Their `rounding` is how far they move in that dtype, or with
    slightly different inputs.
    """
    rounded = answer(call)
    if rounded is None or rounded.shape != exact.shape:
        return None
    numbers = torch.where(rounded.isfinite(), exact, rounded.to(exact.dtype))
    nudged = (replace(call, arguments=own) for own in _nudged(call.arguments))
    moved = [rounded, *(answer(one) for one in nudged)]
    return Numbers(numbers, max(_distance(one, numbers) for one in moved if one is not None))


def _nudged(arguments: Mapping[str, Value]) -> Iterator[dict[str, Value]]:
    """Yields the arguments in float64, each value moved up or down by its dtype's epsilon."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(_NUDGES):
        nudge = functools.partial(_nudge, generator=generator)
        yield {name: mapped(value, nudge) for name, value in arguments.items()}


def _nudge(value: Value, generator: torch.Generator) -> Value:
    if not (isinstance(value, torch.Tensor) and value.is_floating_point()):
        return value
    up_or_down = 2 * torch.randint(0, 2, value.shape, generator=generator) - 1
    return value.to(torch.float64) * (1 + torch.finfo(value.dtype).eps * up_or_down)


def _moved(value: Value, generator: torch.Generator) -> Value:
    if not (isinstance(value, torch.Tensor) and value.is_floating_point()):
        return value
    return value + torch.rand(value.shape, generator=generator, dtype=value.dtype)


def _differing(taken: Steps, right: Steps) -> Iterator[str]:
    for name in taken.keys() & right.keys():
        own, other = (one[name][0].to(torch.float64) for one in (taken, right))
        if own.shape != other.shape or not torch.allclose(own, other, equal_nan=True):
            yield name


def _distance(rounded: torch.Tensor, exact: torch.Tensor) -> float:
    apart = (rounded.double() - exact).abs()
    return float(apart[apart.isfinite()].amax()) if apart.isfinite().any() else 0.0
