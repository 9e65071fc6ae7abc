"""Attention, softmax to rotary positions; everything that adapters need is here."""

from .kernel import attention_map, drop, sdpa, stable_softmax
from .layers import count, mha
from .masks import allowed
from .waves import rotary, sinusoids

__all__ = [
    "allowed",
    "attention_map",
    "count",
    "drop",
    "mha",
    "rotary",
    "sdpa",
    "sinusoids",
    "stable_softmax",
]
