"""Part 3, the model: blocks of attention and feed-forward layers, between an embedding and a head.

Paper: Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture", on why norms
stand before the layers and not behind them.
"""

from collections.abc import Mapping

import torch
from torch import Tensor


def transformer_block(
    d_model: int,
    num_heads: int,
    d_ff: int,
    max_seq_len: int,
    theta: float,
    weights: Mapping[str, Tensor],
    in_features: Tensor,
) -> Tensor:
    """Add to each token what attention finds for it, then what the feed-forward layer makes of it.

        y = x + Attention(RMSNorm_1(x))
        z = y + SwiGLU(RMSNorm_2(y))

    with the multi-head self-attention with RoPE of `attention`, at positions 0, 1, 2, ..., and
    norms with an eps of 1e-5. `adapters.py` lists the names and the shapes of the weights.

    Shapes: `in_features` (batch, seq, d_model) -> (batch, seq, d_model).

    Ask yourself:
    * What is added to what: is it the vector before its norm, or after?
    * If your modules name their parameters as the weights are named, what does
      `load_state_dict(weights)` do for you, and what does it hide with `strict=False`?
    """
    raise NotImplementedError("transformer_block is not written yet")


def transformer_lm(
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    d_ff: int,
    rope_theta: float,
    weights: Mapping[str, Tensor],
    in_indices: Tensor,
) -> Tensor:
    """Score every token of the vocabulary as the next one, after each token of a text.

        token embedding -> block 0 -> ... -> block num_layers - 1 -> RMSNorm -> linear head

    The scores are not normalised: no softmax at the end. `adapters.py` lists the names and the
    shapes of the weights; the block's are those of `transformer_block` after `layers.{i}.`.

    Shapes: `in_indices` (batch, seq), seq at most context_length -> (batch, seq, vocab_size).

    Ask yourself:
    * If you change the last token of the text, which scores may change?
    * Are the weights of the head those of the embedding?
    """
    raise NotImplementedError("transformer_lm is not written yet")
