"""A small attention library: stateless functions in `functional`, parameters in `modules`."""

from attn.config import AttentionConfig
from attn.modules import CrossAttention, RotaryEmbedding, SelfAttention, StackedHeads

__all__ = ["AttentionConfig", "CrossAttention", "RotaryEmbedding", "SelfAttention", "StackedHeads"]
