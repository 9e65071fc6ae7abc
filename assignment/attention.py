"""Part 2, attention: one head, several heads, and attention from one sequence to another.

Paper: Vaswani et al. 2017, "Attention Is All You Need", section 3.2. Any number of leading axes
(none, a batch, a batch and heads) may stand before the ones that are named: count axes from the
last and one function serves all of them.
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
    * queries, keys, d_k and d_v may all differ. Which two of them must be equal, and where?
    * Does your code still work when there is no batch axis, and when there are two?
    """
    raise NotImplementedError("scaled_dot_product_attention is not written yet")


def causal_self_attention(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    """Self-attention with projections in which no token sees a later one.

    As `warmup.self_attention`, under the mask of `warmup.causal_mask`.

    Shapes: each W (d_in, d_out), `in_features` (..., seq, d_in) -> (..., seq, d_out).

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> W_query = W_key = torch.tensor([[2.0], [0.0]])
    >>> W_value = torch.tensor([[10.0], [20.0]])
    >>> causal_self_attention(W_query, W_key, W_value, x)
    tensor([[10.],
            [15.]])

    Token 0 sees nothing but itself, so its context is its own value.

    Source: Vaswani et al. 2017, section 3.2.3, third point.

    Ask yourself:
    * If you change the last token, which rows of the result may change?
    * With a batch in front, along which axis is your softmax?
    """
    raise NotImplementedError("causal_self_attention is not written yet")


def multihead_attention_stacked(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    """Several causal heads with weights of their own, their outputs laid side by side.

        head_h = CausalSelfAttention(x; W_query[h], W_key[h], W_value[h])
        result = Concat(head_0, ..., head_H-1)

    Shapes: each W (heads, d_in, d_head), `in_features` (..., seq, d_in)
    -> (..., seq, heads * d_head).

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> W_query = W_key = torch.tensor([[[2.0], [0.0]], [[0.0], [0.0]]])
    >>> W_value = torch.tensor([[[10.0], [20.0]], [[-1.0], [-3.0]]])
    >>> multihead_attention_stacked(W_query, W_key, W_value, x)
    tensor([[10., -1.],
            [15., -2.]])

    The first column is the example of `causal_self_attention`; in the second head every score is 0.

    Source: Vaswani et al. 2017, section 3.2.2, without its output projection.

    Ask yourself:
    * Along which axis are heads laid side by side, and in which order?
    * Does every head use its own three matrices?
    """
    raise NotImplementedError("multihead_attention_stacked is not written yet")


def multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    """Causal multi-head self-attention, with one weight matrix for all heads and an output one.

        MultiHead(x) = Concat(head_0, ..., head_H-1) W_o^T
        head_h = Attention(x W_q,h^T, x W_k,h^T, x W_v,h^T), causal

    where d_head = d_model / H and W_q,h are the rows h * d_head to (h + 1) * d_head of
    `q_proj_weight`; likewise for keys and values.

    Shapes: each weight (d_model, d_model), `in_features` (..., seq, d_model)
    -> (..., seq, d_model). On the way there is a (..., heads, seq, d_head).

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> W_q = W_k = torch.tensor([[2.0, 0.0], [0.0, 0.0]])
    >>> W_v = torch.tensor([[10.0, 20.0], [-1.0, -3.0]])
    >>> W_o = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    >>> multihead_self_attention(2, 2, W_q, W_k, W_v, W_o, x)
    tensor([[ 9., -1.],
            [13., -2.]])

    Two heads of one feature each. Before the output projection this is the example of
    `multihead_attention_stacked`: (10, -1) and (15, -2).

    Source: Vaswani et al. 2017, section 3.2.2.

    Ask yourself:
    * A projection is d_model wide, and a head d_head. Which of the two is under the root?
    * Cutting the last axis in two gives (..., seq, heads, d_head). Between which axes must the
      matrix product run, and what does a mere reshape to (..., heads, seq, d_head) mix up?
    * On the way back: are the features of one token next to each other before you merge them?
    """
    raise NotImplementedError("multihead_self_attention is not written yet")


def multihead_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    is_causal: bool,
) -> Tensor:
    """Multi-head attention from one sequence to another, or to itself.

    As `multihead_self_attention`, with queries from `query`, keys from `key`, values from `value`.
    In an encoder-decoder the decoder's tokens are the queries and the encoder's outputs are both
    keys and values. Causal only on request; then both sequences are equally long.

    Shapes: each weight (d_model, d_model), `query` (..., q, d_model), `key` and `value`
    (..., k, d_model) -> (..., q, d_model).

    >>> import torch
    >>> one = torch.eye(2)
    >>> query = torch.zeros(1, 2)
    >>> key = torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, 3.0]])
    >>> value = torch.tensor([[3.0, 0.0], [0.0, 6.0], [0.0, 0.0]])
    >>> multihead_attention(2, 1, one, one, one, one, query, key, value, is_causal=False)
    tensor([[1., 2.]])

    A query of zeros likes every key equally: the result is the mean of the values.

    Source: Vaswani et al. 2017, sections 3.2.2 and 3.2.3, first point.

    Ask yourself:
    * Which tensor says how many keys there are?
    * Which of the three inputs does each projection belong to?
    """
    raise NotImplementedError("multihead_attention is not written yet")


def parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    """The number of parameters of a multi-head attention module.

    Three projections lead from d_in to d_out features (queries, keys, values), one from d_out to
    d_out (the output). Each is a matrix and, where asked for, a bias.

    >>> parameter_count(d_in=2, d_out=3, qkv_bias=True, out_bias=False)
    36

    Here a projection has 2 * 3 weights and 3 biases, the output 3 * 3 weights and no bias.

    Source: Vaswani et al. 2017, section 3.2.2, lists the matrices.

    Ask yourself:
    * How does the count depend on the number of heads?
    * How many numbers has the bias of a layer from d_in to d_out?
    """
    raise NotImplementedError("parameter_count is not written yet")
