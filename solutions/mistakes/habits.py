"""Bad habits: right numbers for ordinary inputs, in a way that a caller cannot live with."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..answers import Answer, answer
from ..parts import Parts
from ..steps import mask_scores, rotate
from .mistake import ATTENTION, CAUSAL_SELF, MASKED, MULTIHEAD_SELF

_ROWS = ("run_causal_mask", "run_sinusoidal_positional_encoding")
_IN_FLOATS = (
    *("run_softmax", "run_simple_self_attention", "run_attention_dropout"),
    *(*ATTENTION, "run_rope"),
)
_OVER_TOKENS = (*(name for name in _IN_FLOATS if name != "run_softmax"), *_ROWS)


@dataclass(frozen=True, slots=True)
class Habit:
    """A known bad habit, which a check of its own finds.

    `wrap` gives the habit to a function that is made of `parts`.
    """

    id: str
    explanation: str
    hint: str
    wrap: Callable[[Answer], Answer]
    exercises: tuple[str, ...]
    parts: Parts = field(default_factory=Parts)

    @property
    def variants(self) -> dict[str, tuple[Answer, ...]]:
        """Functions with the habit and the adapter's parameters, by exercise."""
        return {name: (self.wrap(answer(name, self.parts)),) for name in self.exercises}


def _writing_into_inputs(right: Answer) -> Answer:
    def habit(**inputs: object) -> Tensor:
        result: Tensor = right(**inputs).clone()
        floats = (x for x in inputs.values() if isinstance(x, Tensor) and x.is_floating_point())
        with torch.no_grad():
            next(floats).mul_(2)
        return result

    return habit


def _on_the_cpu(right: Answer) -> Answer:
    def habit(**inputs: object) -> Tensor:
        result: Tensor = right(**inputs)
        return result + torch.zeros(result.shape, dtype=result.dtype, device="cpu")

    return habit


def _in_float32(right: Answer) -> Answer:
    def habit(**inputs: object) -> Tensor:
        result: Tensor = right(**inputs)
        return result.float()

    return habit


def _detached(right: Answer) -> Answer:
    def habit(**inputs: object) -> Tensor:
        result: Tensor = right(**inputs)
        return result.detach()

    return habit


def _row_by_row(right: Answer) -> Answer:
    def habit(**inputs: object) -> Tensor:
        result: Tensor = right(**inputs)
        rows = result.reshape(-1, result.shape[-1])
        return torch.stack([rows[i] for i in range(len(rows))]).view(result.shape)

    return habit


def _without_a_batch_of_one(right: Answer) -> Answer:
    def habit(**inputs: object) -> Tensor:
        result: Tensor = right(**inputs)
        return result.squeeze(0) if result.dim() > 2 else result

    return habit


def _alternating(right: Answer) -> Answer:
    calls = itertools.count()

    def habit(**inputs: object) -> Tensor:
        result: Tensor = right(**inputs)
        if next(calls) % 2 == 0:
            return result
        return result.logical_not() if result.dtype == torch.bool else result + 1

    return habit


def _of_few_tokens(right: Answer) -> Answer:
    def habit(in_features: Tensor, **others: object) -> Tensor:
        if in_features.shape[-2] > 16:
            raise ValueError("the mask has 16 rows and columns")
        return right(in_features=in_features, **others)

    return habit


def _masked_exponentials(right: Answer) -> Answer:
    def habit(Q: Tensor, K: Tensor, mask: Tensor | None = None, **others: Tensor) -> Tensor:
        if mask is None:
            result: Tensor = right(Q=Q, K=K, mask=mask, **others)
            return result
        scores = Q @ K.transpose(-2, -1) / Q.shape[-1] ** 0.5
        largest = scores.masked_fill(~mask, float("-inf")).amax(-1, keepdim=True)
        shares = torch.where(mask, (scores - largest).exp(), 0.0)
        weights = shares / shares.sum(-1, keepdim=True)
        return weights @ others["V"] if others else weights

    return habit


def _as_it_is(right: Answer) -> Answer:
    return right


def _same_kept(weights: Tensor, p: float) -> Tensor:
    drawn = torch.rand(weights.shape, generator=torch.Generator().manual_seed(0))
    return (drawn >= p).to(weights.device)


def _filled_with_minus_10000(scaled: Tensor, mask: Tensor) -> Tensor:
    return scaled.masked_fill(~mask, -1e4)


def _alike_if_nothing_is_hidden(scaled: Tensor, mask: Tensor) -> Tensor:
    return torch.zeros_like(scaled) if mask.all() else mask_scores(scaled, mask)


def _angles_in_their_dtype(vectors: Tensor, angles: Tensor) -> Tensor:
    return rotate(vectors, angles.to(vectors.dtype))


HABITS = (
    Habit(
        "input-changed",
        "Your function writes into a tensor that the caller passed and still needs.",
        "Which of your operations work in place?",
        _writing_into_inputs,
        _IN_FLOATS,
    ),
    Habit(
        "device-fixed",
        "Your function makes a tensor on the CPU, whatever device its inputs are on.",
        "Where does a tensor that you create yourself lie when the inputs are on a GPU?",
        _on_the_cpu,
        _IN_FLOATS,
    ),
    Habit(
        "dtype-fixed",
        "Your function returns 32-bit numbers, whatever the precision of its inputs is.",
        "Which dtype do the tensors have that you create yourself?",
        _in_float32,
        _IN_FLOATS,
    ),
    Habit(
        "gradient-cut",
        "No gradient passes through your function, so that nothing before it could learn.",
        "Which step between inputs and result makes a new tensor that autograd does not know?",
        _detached,
        _IN_FLOATS,
    ),
    Habit(
        "loop-over-tokens",
        "Your function goes through tokens or sequences one by one, which is slow.",
        "Could one operation do for all tokens what your loop does for each?",
        _row_by_row,
        _OVER_TOKENS,
    ),
    Habit(
        "batch-of-one-dropped",
        "Your function drops a leading axis of length 1 that its inputs have.",
        "Which shape should the result have for a batch that holds one sequence?",
        _without_a_batch_of_one,
        _IN_FLOATS,
    ),
    Habit(
        "kept-between-calls",
        "Your function returns something else when it is called again with the same inputs.",
        "Which value does your code still hold from the call before?",
        _alternating,
        (*_OVER_TOKENS, "run_softmax"),
    ),
    Habit(
        "dropout-same-each-call",
        "Your dropout drops the same weights in every call.",
        "Where do your random numbers begin in each call: with a seed of your own?",
        _as_it_is,
        ("run_attention_dropout",),
        Parts(kept=_same_kept),
    ),
    Habit(
        "mask-fill-too-high",
        "Hidden keys get a finite score; where all visible keys score lower, the hidden ones win.",
        "Which number is lower than every possible score?",
        _as_it_is,
        MASKED,
        Parts(mask_scores=_filled_with_minus_10000),
    ),
    Habit(
        "mask-after-exp",
        "A masked key with a large score makes your gradients NaN: its exponential overflows "
        "before the mask replaces it.",
        "Which scores does your exponential see: all of them, or masked ones?",
        _masked_exponentials,
        MASKED,
    ),
    Habit(
        "mask-of-a-fixed-size",
        "Your causal mask has a fixed size, so that your function fails for more tokens.",
        "Which tensor says how many tokens there are?",
        _of_few_tokens,
        (CAUSAL_SELF, MULTIHEAD_SELF),
    ),
    Habit(
        "mask-hides-nothing",
        "Your function makes all weights equal where a mask hides nothing.",
        "How should a result differ between no mask and a mask that is True everywhere?",
        _as_it_is,
        MASKED,
        Parts(mask_scores=_alike_if_nothing_is_hidden),
    ),
    Habit(
        "rope-angles-rounded",
        "Your angles are computed in the precision of the input, which is too low for large "
        "positions.",
        "How far apart are neighbouring numbers near 1000 in bfloat16?",
        _as_it_is,
        ("run_rope",),
        Parts(rotate=_angles_in_their_dtype),
    ),
)
