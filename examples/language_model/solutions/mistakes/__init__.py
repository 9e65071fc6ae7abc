"""The catalogue of known mistakes: wrong code that people write instead of the references.

A submission whose answers equal a mistake's, case by case, gets the mistake's name, explanation and
hint. `HABITS` give the same results as references on ordinary inputs, and only tests of other
aspects catch them. `grader verify` checks that the tests catch each, and name each mistake right.
"""

from . import (
    checkpoint,
    clipping,
    data,
    habits,
    heads,
    layers,
    loss,
    model,
    optimizer,
    rope,
    schedule,
    scores,
    side_effects,
    tokenizer,
    tokenizer_training,
)
from .mistake import Mistake, combined

MISTAKES: tuple[Mistake, ...] = (
    *layers.MISTAKES,
    *scores.MISTAKES,
    *heads.MISTAKES,
    *rope.MISTAKES,
    *model.MISTAKES,
    *loss.MISTAKES,
    *optimizer.MISTAKES,
    *clipping.MISTAKES,
    *schedule.MISTAKES,
    *data.MISTAKES,
    *checkpoint.MISTAKES,
    *tokenizer.MISTAKES,
    *tokenizer_training.MISTAKES,
)

HABITS = (*habits.HABITS, *side_effects.HABITS)

_ATTENTION = ("run_scaled_dot_product_attention", "run_softmax")
_HEADS = ("run_multihead_self_attention", *_ATTENTION)
_HEADS_WITH_ROPE = ("run_multihead_self_attention_with_rope", "run_rope", *_HEADS)
_BLOCK = ("run_swiglu", "run_silu", "run_rmsnorm", *_HEADS_WITH_ROPE)

BUILDS_ON = {
    "run_swiglu": ("run_silu",),
    "run_scaled_dot_product_attention": ("run_softmax",),
    "run_multihead_self_attention": _ATTENTION,
    "run_multihead_self_attention_with_rope": ("run_rope", *_HEADS),
    "run_transformer_block": _BLOCK,
    "run_transformer_lm": ("run_transformer_block", *_BLOCK, "run_embedding"),
    # Tests see a saved state only after loading it.
    "run_save_checkpoint": ("run_load_checkpoint",),
}

__all__ = ["BUILDS_ON", "HABITS", "MISTAKES", "Mistake", "combined"]
