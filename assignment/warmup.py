"""Part 1, warm-up: from a softmax to attention weights and their dropout.

Each function is a step of the next part, so build on what you have: weights need a softmax,
self-attention needs weights.

Papers: Vaswani et al. 2017, "Attention Is All You Need"; Bahdanau et al. 2015, "Neural Machine
Translation by Jointly Learning to Align and Translate"; Srivastava et al. 2014, "Dropout: A Simple
Way to Prevent Neural Networks from Overfitting".
"""

import torch
from torch import Tensor


def softmax(in_features: Tensor, dim: int) -> Tensor:
    """Turn the numbers along `dim` into positive shares that sum to 1.

        softmax(x)_i = exp(x_i) / sum_j exp(x_j)

    Shapes: `in_features` (...) -> the same (...).

    >>> import math, torch
    >>> softmax(torch.tensor([math.log(1.0), math.log(2.0), math.log(5.0)]), dim=0)
    tensor([0.1250, 0.2500, 0.6250])

    Source: Vaswani et al. 2017, section 3.2.1, uses it; footnote 4 says why its input is scaled.

    Ask yourself:
    * What is exp(1000) in float32, and what is left when two such numbers are divided?
    * What happens to the shares when the same number is added to every x_i?
    * Does a sum along `dim` still line up with its input when `dim` is not the last axis?
    """
    raise NotImplementedError("softmax is not written yet")


def simple_self_attention(in_features: Tensor) -> Tensor:
    """Mix the tokens by how alike they are: no weights, no scaling.

        context_i = sum_j a_ij x_j,  where a_i = softmax over j of the dot products x_i . x_j

    Shapes: `in_features` (..., seq, d) -> contexts (..., seq, d).

    >>> import torch
    >>> simple_self_attention(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    tensor([[0.7311, 0.2689],
            [0.2689, 0.7311]])

    Here token 0 has the scores 1 (with itself) and 0 (with the other): e / (e + 1) = 0.7311.

    Source: the idea of a context as a weighted average is Bahdanau et al. 2015, section 3.1.

    Ask yourself:
    * Which axis of the scores belongs to the token that looks, which to those that are looked at,
      and along which must the shares sum to 1?
    * What does `.T` do to a tensor with a batch axis?
    """
    raise NotImplementedError("simple_self_attention is not written yet")


def self_attention(W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor) -> Tensor:
    """Self-attention whose queries, keys and values are projections of the tokens.

        q = x W_query,  k = x W_key,  v = x W_value
        context_i = sum_j softmax_j(q_i . k_j / sqrt(d_out)) v_j

    Shapes: each W (d_in, d_out), `in_features` (..., seq, d_in) -> (..., seq, d_out).

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> W_query = W_key = torch.tensor([[2.0], [0.0]])
    >>> W_value = torch.tensor([[10.0], [20.0]])
    >>> self_attention(W_query, W_key, W_value, x)
    tensor([[10.1799],
            [15.0000]])

    Token 0 has the query 2 and meets the keys 2 and 0: scores 4 and 0, weights 0.9820 and 0.0180.
    Token 1 has the query 0: all keys are alike to it.

    Source: Vaswani et al. 2017, section 3.2.1.

    Ask yourself:
    * These matrices multiply from the right, x @ W. How does `torch.nn.Linear` keep its weights?
    * By the root of which number is divided when d_in and d_out differ, and why by a root at all?
    """
    raise NotImplementedError("self_attention is not written yet")


def causal_mask(seq_len: int) -> Tensor:
    """The boolean mask under which no position sees a later one.

    Row i, column j says whether query i may attend to key j: `True` is yes.

    Shapes: -> (seq, seq), dtype bool. Row 0 allows one key, row 1 two, the last row all.

    >>> causal_mask(4).sum(dim=-1)
    tensor([1, 2, 3, 4])
    >>> causal_mask(4)[0]
    tensor([ True, False, False, False])

    Source: Vaswani et al. 2017, section 3.2.3, third point.

    Ask yourself:
    * May a position see itself?
    * Do you know which of upper and lower triangle is which, or are you guessing?
    """
    raise NotImplementedError("causal_mask is not written yet")


def attention_weights(Q: Tensor, K: Tensor, mask: Tensor | None = None) -> Tensor:
    """Share out each query's attention over the keys that it may see.

        A = softmax(Q K^T / sqrt(d_k)), along the keys, with nothing for keys that are masked

    Shapes: Q (..., queries, d_k), K (..., keys, d_k), mask (..., queries, keys) boolean, `True`
    where attention is allowed -> (..., queries, keys). The mask may have fewer leading axes.

    >>> import torch
    >>> Q = torch.tensor([[2.0, 0.0, 0.0, 0.0]])
    >>> K = torch.tensor([[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [5.0, 0.0, 0.0, 0.0]])
    >>> attention_weights(Q, K, mask=torch.tensor([[True, True, False]]))
    tensor([[0.2689, 0.7311, 0.0000]])

    The scores are 0, 2, 10, scaled 0, 1, 5; the third key is hidden, so two share everything.

    Source: Vaswani et al. 2017, section 3.2.1 and, for the mask, section 3.2.3.

    Ask yourself:
    * Which score makes a share of exactly nothing? Is that score 0?
    * What do the rows sum to if weights are removed after the softmax instead?
    * How do you test "is there a mask?" when a mask is a tensor of many truth values?
    """
    raise NotImplementedError("attention_weights is not written yet")


def attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    """Inverted dropout: drop each weight with probability p, without changing the average.

    In training every weight, independently, becomes 0 with probability p; the survivors are scaled
    by the one factor that keeps each weight's expected value what it was. In evaluation nothing
    changes.

    Shapes: `weights` (...) -> the same (...).

    With p = 0.5 a row (0.25, 0.25, 0.25, 0.25) may turn into (0.5, 0, 0, 0.5), or into another of
    sixteen rows; its sum is 1 on average, not each time.

    >>> import torch
    >>> attention_dropout(torch.tensor([0.25, 0.75]), p=0.5, training=False)
    tensor([0.2500, 0.7500])

    Source: Srivastava et al. 2014, section 10 (scaling while training instead of at test time);
    Vaswani et al. 2017, section 5.4.

    Ask yourself:
    * With p = 0.9, which of 0.1 and 0.9 is the share that survives?
    * Does a number drawn once per row still drop each weight on its own?
    """
    raise NotImplementedError("attention_dropout is not written yet")
