"""The references: right answers to every adapter, in the dtype of the inputs.

Each has the parameters of the adapter of the same name in `adapters.py`. They consist of small
functions, which `steps` holds. `warmup`, `attention` and `positions` compose these, and `mistakes`
replaces some of them by wrong ones.
"""

from .answers import answer
from .answers import named_steps as named_steps
from .parts import Parts

_RIGHT = Parts()

run_softmax = answer("run_softmax", _RIGHT)
run_simple_self_attention = answer("run_simple_self_attention", _RIGHT)
run_self_attention = answer("run_self_attention", _RIGHT)
run_causal_mask = answer("run_causal_mask", _RIGHT)
run_attention_weights = answer("run_attention_weights", _RIGHT)
run_attention_dropout = answer("run_attention_dropout", _RIGHT)
run_scaled_dot_product_attention = answer("run_scaled_dot_product_attention", _RIGHT)
run_causal_self_attention = answer("run_causal_self_attention", _RIGHT)
run_multihead_attention_stacked = answer("run_multihead_attention_stacked", _RIGHT)
run_multihead_self_attention = answer("run_multihead_self_attention", _RIGHT)
run_multihead_attention = answer("run_multihead_attention", _RIGHT)
run_parameter_count = answer("run_parameter_count", _RIGHT)
run_sinusoidal_positional_encoding = answer("run_sinusoidal_positional_encoding", _RIGHT)
run_rope = answer("run_rope", _RIGHT)
run_multihead_self_attention_with_rope = answer("run_multihead_self_attention_with_rope", _RIGHT)

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
