from .functional import attention, attention_weights, causal_mask, softmax
from .multihead import MultiHeadAttention, StackedHeads
from .positional import sinusoidal_table
from .rotary import RotaryEmbedding
from .single_head import SelfAttention

__all__ = [
    "MultiHeadAttention",
    "RotaryEmbedding",
    "SelfAttention",
    "StackedHeads",
    "attention",
    "attention_weights",
    "causal_mask",
    "sinusoidal_table",
    "softmax",
]
