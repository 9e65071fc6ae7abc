"""The catalogue of known mistakes: what people write instead of the references.

A submission whose answers equal a mistake's, case by case, gets the mistake's name, explanation and
hint. `HABITS` give the same results as references on ordinary inputs, and are caught by tests of
other aspects. `grader verify` sees to it that the tests catch each, and take none for another.
"""

from . import heads, layers, loss, model, rope, scores
from .habits import HABITS
from .mistake import Mistake

MISTAKES: tuple[Mistake, ...] = (
    *layers.MISTAKES,
    *scores.MISTAKES,
    *heads.MISTAKES,
    *rope.MISTAKES,
    *model.MISTAKES,
    *loss.MISTAKES,
)

__all__ = ["HABITS", "MISTAKES", "Mistake"]
