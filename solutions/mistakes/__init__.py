"""The catalogue of known mistakes: small variants of the references.

`MISTAKES` give other results than the references, by which they are known. `HABITS` give the same
results, and are caught by tests of gradients, discipline and efficiency.
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

__all__ = ["HABITS", "MISTAKES", "Habit", "Mistake", "Way", "combined"]
