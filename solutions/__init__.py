"""The references: right answers to every adapter, in the dtype of what comes in.

Each has the parameters of the adapter of the same name in `adapters.py`. The modules mirror those
of `assignment/`, function by function.
"""

from .attention import causal_self_attention as run_causal_self_attention
from .attention import multihead_attention as run_multihead_attention
from .attention import multihead_attention_stacked as run_multihead_attention_stacked
from .attention import multihead_self_attention as run_multihead_self_attention
from .attention import parameter_count as run_parameter_count
from .attention import scaled_dot_product_attention as run_scaled_dot_product_attention
from .positions import multihead_self_attention_with_rope as run_multihead_self_attention_with_rope
from .positions import rope as run_rope
from .positions import sinusoidal_positional_encoding as run_sinusoidal_positional_encoding
from .warmup import attention_dropout as run_attention_dropout
from .warmup import attention_weights as run_attention_weights
from .warmup import causal_mask as run_causal_mask
from .warmup import self_attention as run_self_attention
from .warmup import simple_self_attention as run_simple_self_attention
from .warmup import softmax as run_softmax

__all__ = [
    "run_attention_dropout",
    "run_attention_weights",
    "run_causal_mask",
    "run_causal_self_attention",
    "run_multihead_attention",
    "run_multihead_attention_stacked",
    "run_multihead_self_attention",
    "run_multihead_self_attention_with_rope",
    "run_parameter_count",
    "run_rope",
    "run_scaled_dot_product_attention",
    "run_self_attention",
    "run_simple_self_attention",
    "run_sinusoidal_positional_encoding",
    "run_softmax",
]
