from .attention import SelfAttention
from .configuration import AttentionConfig

__all__ = ["AttentionConfig", "SelfAttention"]
