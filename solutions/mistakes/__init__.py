"""The catalogue of known mistakes: small variants of the references.

`MISTAKES` give other results than the references, by which they are known. `HABITS` give the same
results, and are caught by tests of gradients, discipline and efficiency. `DROPPED_FROM` says in
which exercises chance sets entries of an argument to zero, and of which one: answers to them are
told apart by what does not hang on the draw. `BUILDS_ON` says which exercises others may be built
on: what is wrong there costs its points there.
"""

from . import counting, dropout, encoding, heads, masks, projections, rope, scores
from .habits import HABITS, Habit
from .mistake import (
    CAUSAL_SELF,
    MULTIHEAD,
    MULTIHEAD_ROPE,
    MULTIHEAD_SELF,
    SCALED_DOT_PRODUCT,
    SELF_ATTENTION,
    STACKED,
    WEIGHTS,
    Mistake,
    Way,
    combined,
)

MISTAKES: tuple[Mistake, ...] = (
    *scores.MISTAKES,
    *masks.MISTAKES,
    *heads.MISTAKES,
    *projections.MISTAKES,
    *rope.MISTAKES,
    *encoding.MISTAKES,
    *dropout.MISTAKES,
    *counting.MISTAKES,
)

DROPPED_FROM = {"run_attention_dropout": "weights"}

_ATTENTION = (SCALED_DOT_PRODUCT, WEIGHTS, "run_softmax")
_MASKED_CAUSALLY = (*_ATTENTION, "run_causal_mask")

BUILDS_ON = {
    "run_simple_self_attention": ("run_softmax",),
    WEIGHTS: ("run_softmax",),
    SCALED_DOT_PRODUCT: (WEIGHTS, "run_softmax"),
    SELF_ATTENTION: _ATTENTION,
    CAUSAL_SELF: (*_MASKED_CAUSALLY, SELF_ATTENTION),
    STACKED: (*_MASKED_CAUSALLY, CAUSAL_SELF),
    MULTIHEAD_SELF: _MASKED_CAUSALLY,
    MULTIHEAD: (*_MASKED_CAUSALLY, MULTIHEAD_SELF),
    MULTIHEAD_ROPE: (*_MASKED_CAUSALLY, "run_rope", MULTIHEAD_SELF),
}

__all__ = ["BUILDS_ON", "DROPPED_FROM", "HABITS", "MISTAKES", "Habit", "Mistake", "Way", "combined"]
