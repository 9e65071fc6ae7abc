"""The catalogue of known mistakes: what people write instead of the references.

A submission whose answers equal a mistake's, case by case, gets the mistake's name, explanation and
hint. `grader verify` sees to it that the tests catch each, and take none for another.
"""

from .mistake import Mistake

MISTAKES: tuple[Mistake, ...] = ()

__all__ = ["MISTAKES", "Mistake"]
