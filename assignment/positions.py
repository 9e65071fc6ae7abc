"""Part 3, positions: attention itself does not know in which order the tokens stand.

Papers: Vaswani et al. 2017, "Attention Is All You Need", section 3.5 (added sines and cosines);
Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.
"""

import torch
from torch import Tensor


def sinusoidal_positional_encoding(seq_len: int, d_model: int) -> Tensor:
    """Encode each position as sines and cosines of slower and slower waves.

        PE(pos, 2i)     = sin(pos / 10000^(2i / d_model))
        PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model))

    for pos = 0, ..., seq_len - 1 and i = 0, ..., d_model / 2 - 1; d_model is even.

    Shapes: -> (seq, d_model).

    >>> sinusoidal_positional_encoding(seq_len=2, d_model=4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])

    In row 1 the angles are 1 and 1 / 100.

    Source: Vaswani et al. 2017, section 3.5.

    Ask yourself:
    * If your loop counts 0, 2, 4, ..., is that number i or 2i?
    * Can all positions be computed at once, without a loop?
    """
    raise NotImplementedError("sinusoidal_positional_encoding is not written yet")


def rope(
    d_k: int, theta: float, max_seq_len: int, in_query_or_key: Tensor, token_positions: Tensor
) -> Tensor:
    """Rotate each pair of features by an angle that grows with the token's position.

    The pairs are the features (0, 1), (2, 3), ...; pair k = 0, ..., d_k / 2 - 1 of a token at
    position m turns, counter-clockwise, by the angle

        m * theta^(-2k / d_k)

    Shapes: `in_query_or_key` (..., seq, d_k), `token_positions` (..., seq) -> (..., seq, d_k).
    The positions may have fewer leading axes than the vectors, need not be sorted or start at 0,
    and are all smaller than `max_seq_len`.

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 2.0]])
    >>> rope(4, 100.0, 8, x, torch.tensor([0, 3]))
    tensor([[ 1.0000,  0.0000,  1.0000,  0.0000],
            [-0.9900,  0.1411, -0.5910,  1.9107]])

    Position 0 turns nothing. At position 3 the first pair turns by 3 radians, the second by
    3 * 100^(-1/2) = 0.3.

    Source: Su et al. 2021, section 3.2.2 (the rotation), section 3.4.2 (how to compute it without
    large matrices).

    Ask yourself:
    * Which features form a pair, neighbours or those half a vector apart?
    * Where does the second feature of a pair end up when the first is 0? Check the signs.
    * Is a rotated vector longer or shorter than before?
    * If you write results into a slice of the input, what have you done to the caller's tensor?
    """
    raise NotImplementedError("rope is not written yet")


def multihead_self_attention_with_rope(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
    token_positions: Tensor | None = None,
) -> Tensor:
    """Causal multi-head self-attention in which scores depend on how far apart tokens are.

    As `attention.multihead_self_attention`, with RoPE between the projections and the scores:
    the rotation acts within each head, on its d_head = d_model / num_heads features, and is the
    same for all heads.

    Shapes: each weight (d_model, d_model), `in_features` (..., seq, d_model), `token_positions`
    (..., seq), possibly with fewer leading axes, or None for 0, 1, 2, ... -> (..., seq, d_model).

    >>> import torch
    >>> one = torch.eye(2)
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> at = torch.tensor([0, 3])
    >>> multihead_self_attention_with_rope(2, 1, 8, 10000.0, one, one, one, one, x, at)
    tensor([[1.0000, 0.0000],
            [0.3086, 0.6914]])

    Token 1 stands at position 3: its query (0, 1) turns into (-0.1411, -0.9900), which meets the
    keys with scores -0.1411 and 1. Unrotated they would be 0 and 1, the row (0.3302, 0.6698).

    Source: Su et al. 2021, section 3.2.2, equation 16; Vaswani et al. 2017, section 3.2.2.

    Ask yourself:
    * Which of queries, keys and values are rotated, and which say what is passed on?
    * The vectors have an axis for the heads, the positions have none: how do the two line up?
    * `if token_positions:` is no way to ask whether positions were given. What is?
    * Does the causal mask depend on the positions?
    """
    raise NotImplementedError("multihead_self_attention_with_rope is not written yet")
