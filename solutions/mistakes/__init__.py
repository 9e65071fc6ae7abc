"""The catalogue of known mistakes: small variants of the references.

`MISTAKES` give other results than the references, by which they are known. `HABITS` give the same
results, and are caught by tests of gradients, discipline and efficiency. `DROPPED_FROM` says in
which exercises chance sets entries of an argument to zero, and of which one: answers to them are
told apart by what does not hang on the draw.
"""

from . import counting, dropout, encoding, heads, masks, projections, rope, scores
from .habits import HABITS, Habit
from .mistake import Mistake, Way, combined

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

__all__ = ["DROPPED_FROM", "HABITS", "MISTAKES", "Habit", "Mistake", "Way", "combined"]
