"""The catalogue of known mistakes: small variants of the references.

`MISTAKES` give other results than the references, and their results identify them. `HABITS` give
the same results, and tests of gradients, discipline and efficiency catch them. `DROPPED_FROM` names
exercises in which chance sets entries of an argument to zero, with the argument. The grader
compares only those parts of such answers that do not depend on the draw. `BUILDS_ON` names the
exercises on which others may be built: an error in one of them costs points only there.
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
