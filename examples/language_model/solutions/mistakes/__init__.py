"""The catalogue of known mistakes: what people write instead of the references.

A submission whose answers equal a mistake's, case by case, gets the mistake's name, explanation and
hint. `grader verify` sees to it that the tests catch each, and take none for another.
"""

from . import checkpoint, clipping, data, optimizer, schedule, tokenizer, tokenizer_training
from .mistake import Mistake

MISTAKES: tuple[Mistake, ...] = (
    *optimizer.MISTAKES,
    *clipping.MISTAKES,
    *schedule.MISTAKES,
    *data.MISTAKES,
    *checkpoint.MISTAKES,
    *tokenizer.MISTAKES,
    *tokenizer_training.MISTAKES,
)

__all__ = ["MISTAKES", "Mistake"]
