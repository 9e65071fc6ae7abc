"""Part 2, attention: of one head, of several, and with positions that are rotated in.

Papers: Vaswani et al. 2017, "Attention Is All You Need"; Su et al. 2021, "RoFormer: Enhanced
Transformer with Rotary Position Embedding".
"""

import torch
from torch import Tensor


def scaled_dot_product_attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Give each query an average of the values, weighted by how well their keys match it.

        Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V

    Shapes: Q (..., queries, d_k), K (..., keys, d_k), V (..., keys, d_v), mask (..., queries, keys)
    boolean, `True` where attention is allowed -> (..., queries, d_v).

    >>> import torch
    >>> Q = torch.tensor([[2.0, 0.0, 0.0, 0.0]])
    >>> K = torch.tensor([[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    >>> V = torch.tensor([[0.0, 100.0], [10.0, 100.0]])
    >>> scaled_dot_product_attention(Q, K, V)
    tensor([[  7.3106, 100.0000]])

    The scaled scores are 0 and 1, the weights 0.2689 and 0.7311.

    Source: Vaswani et al. 2017, section 3.2.1, equation 1.

    Ask yourself:
    * What must a score be for the softmax to leave nothing of it?
    * queries, keys, d_k and d_v may all differ. Which two of them must be equal, and where?
    """
    raise NotImplementedError("scaled_dot_product_attention is not written yet")


def multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    """Attend causally with several heads at once, then mix what they found.

        MultiHead(x) = W_O Concat(head_1, ..., head_h)
        head_i = Attention(Q_i, K_i, V_i)

    where Q_i is the i-th of `num_heads` slices of W_Q x, all of the same width, and K_i and V_i the
    same of W_K x and W_V x. No token sees a later one.

    Shapes: each weight (d_model, d_model), `in_features` (..., seq, d_model)
    -> (..., seq, d_model).

    Source: Vaswani et al. 2017, section 3.2.2.

    Ask yourself:
    * After the features are split into heads, which axis must stand before which for the softmax to
      be over tokens?
    * Which axes does a `reshape` keep apart, and which does it run together?
    """
    raise NotImplementedError("multihead_self_attention is not written yet")


def rope(
    d_k: int, theta: float, max_seq_len: int, in_query_or_key: Tensor, token_positions: Tensor
) -> Tensor:
    """Turn each pair of features by an angle that grows with the position.

        (x_2k, x_2k+1) -> (x_2k cos a - x_2k+1 sin a, x_2k sin a + x_2k+1 cos a)
        a = position * theta ** (-2k / d_k),    k = 0, 1, ..., d_k / 2 - 1

    Shapes: `in_query_or_key` (..., seq, d_k), `token_positions` (..., seq), which may have fewer
    leading axes -> (..., seq, d_k).

    >>> import math, torch
    >>> rope(2, 10000.0, 8, torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 1]))
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])

    Position 0 is left as it is; at position 1 the first pair turns by 1 radian.

    Source: Su et al. 2021, section 3.4.2.

    Ask yourself:
    * Which features make a pair: neighbours, or one of each half?
    * If cosines and sines are kept in a table, how do positions that do not start at 0 find theirs?
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
    """Multi-head self-attention whose queries and keys are rotated by their positions.

    As `multihead_self_attention`, with `rope` on the queries and the keys of each head, whose d_k
    is d_model / num_heads. Without `token_positions` they are 0, 1, 2, ...

    Shapes: as there; `token_positions` (..., seq).

    Ask yourself:
    * Why are the values not rotated?
    * Heads are one axis more: where does it stand when the positions of a batch meet the queries?
    """
    raise NotImplementedError("multihead_self_attention_with_rope is not written yet")
