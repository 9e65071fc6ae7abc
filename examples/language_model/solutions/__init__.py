"""The references: right answers to every adapter, by the same names and parameters.

Those of the model consist of small steps, which `steps` holds. `layers`, `attention`, `transformer`
and `loss` compose them, and `mistakes` replaces some of them by wrong ones.
"""

from . import checkpoint, data, optimizer, schedule, tokenizer, tokenizer_training
from .answers import answer
from .answers import named_steps as named_steps
from .parts import Parts

_RIGHT = Parts()

run_linear = answer("run_linear", _RIGHT)
run_embedding = answer("run_embedding", _RIGHT)
run_silu = answer("run_silu", _RIGHT)
run_swiglu = answer("run_swiglu", _RIGHT)
run_rmsnorm = answer("run_rmsnorm", _RIGHT)
run_softmax = answer("run_softmax", _RIGHT)
run_scaled_dot_product_attention = answer("run_scaled_dot_product_attention", _RIGHT)
run_multihead_self_attention = answer("run_multihead_self_attention", _RIGHT)
run_rope = answer("run_rope", _RIGHT)
run_multihead_self_attention_with_rope = answer("run_multihead_self_attention_with_rope", _RIGHT)
run_transformer_block = answer("run_transformer_block", _RIGHT)
run_transformer_lm = answer("run_transformer_lm", _RIGHT)
run_cross_entropy = answer("run_cross_entropy", _RIGHT)

run_gradient_clipping = optimizer.gradient_clipping
run_get_lr_cosine_schedule = schedule.get_lr_cosine_schedule
run_get_batch = data.get_batch
run_save_checkpoint = checkpoint.save_checkpoint
run_load_checkpoint = checkpoint.load_checkpoint
get_tokenizer = tokenizer.Tokenizer
run_train_bpe = tokenizer_training.train_bpe


def get_adamw_cls() -> type[optimizer.AdamW]:
    """Returns the class itself."""
    return optimizer.AdamW
