from .core import CausalMask, ScaledDotProductAttention, Softmax
from .heads import MultiHeadAttention, SelfAttention, StackedHeads
from .position import RotaryEmbedding, sinusoids

__all__ = [
    "CausalMask",
    "MultiHeadAttention",
    "RotaryEmbedding",
    "ScaledDotProductAttention",
    "SelfAttention",
    "Softmax",
    "StackedHeads",
    "sinusoids",
]
