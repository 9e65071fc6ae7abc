"""Part 1, the layers: what a Transformer is put together from.

Any number of leading axes (none, a batch, a batch and a sequence) may stand before the ones that
are named: count axes from the last, and one function serves all of them.

Papers: Elfwing et al. 2018, "Sigmoid-Weighted Linear Units for Neural Network Function
Approximation in Reinforcement Learning"; Shazeer 2020, "GLU Variants Improve Transformer"; Zhang
and Sennrich 2019, "Root Mean Square Layer Normalization".
"""

import torch
from torch import Tensor


def linear(d_in: int, d_out: int, weights: Tensor, in_features: Tensor) -> Tensor:
    """Multiply each vector by one matrix.

        y = W x, or for vectors that lie in rows: y = x W^T

    Shapes: `weights` (d_out, d_in), `in_features` (..., d_in) -> (..., d_out).

    >>> import torch
    >>> linear(2, 3, torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), torch.tensor([3.0, 4.0]))
    tensor([3., 4., 7.])

    The third feature is the sum of the two, because the third row of the weights is (1, 1).

    Ask yourself:
    * Which of the two axes of the weights is summed over?
    """
    raise NotImplementedError("linear is not written yet")


def embedding(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    """Look up the vector of each token.

    Shapes: `weights` (vocab_size, d_model), `token_ids` (...) -> (..., d_model).

    >>> import torch
    >>> embedding(3, 2, torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), torch.tensor([2, 0]))
    tensor([[5., 6.],
            [1., 2.]])

    Ask yourself:
    * What does indexing a matrix with a tensor of several axes return?
    """
    raise NotImplementedError("embedding is not written yet")


def silu(in_features: Tensor) -> Tensor:
    """Multiply each number by its own sigmoid.

        silu(x) = x * sigmoid(x) = x / (1 + exp(-x))

    Shapes: (...) -> the same (...).

    >>> import math, torch
    >>> silu(torch.tensor([-4.0, 0.0, math.log(3.0)]))
    tensor([-0.0719,  0.0000,  0.8240])

    The sigmoid of log 3 is 3 / 4, and 3 / 4 of 1.0986 is 0.8240.

    Source: Elfwing et al. 2018, section 2.

    Ask yourself:
    * What is exp(100) in float32, and what is infinity divided by infinity?
    """
    raise NotImplementedError("silu is not written yet")


def swiglu(
    d_model: int,
    d_ff: int,
    w1_weight: Tensor,
    w2_weight: Tensor,
    w3_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    """Project up twice, let one projection gate the other, and project back.

        y = W2 (silu(W1 x) * (W3 x))

    Shapes: `w1_weight` and `w3_weight` (d_ff, d_model), `w2_weight` (d_model, d_ff), `in_features`
    (..., d_model) -> (..., d_model). The product `*` is one of numbers, not of matrices.

    >>> import torch
    >>> one = torch.eye(2)
    >>> swiglu(2, 2, one, 10 * one, 2 * one, torch.tensor([0.0, 1.0]))
    tensor([ 0.0000, 14.6212])

    The gate is silu(1) = 0.7311, the other projection 2, and 10 times their product 14.6212.

    Source: Shazeer 2020, section 2, where FFN_SwiGLU is this with W1 = W, W3 = V.

    Ask yourself:
    * Which of the two projections goes through the SiLU?
    """
    raise NotImplementedError("swiglu is not written yet")


def rmsnorm(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    """Divide each vector by its root mean square, then give each feature a gain.

        y_i = x_i / sqrt(mean of x_j^2 over j + eps) * g_i

    Shapes: `weights` (d_model,), which are the g, `in_features` (..., d_model) -> (..., d_model).
    Numbers of half precision are turned into float32 first, and the result back.

    >>> import torch
    >>> rmsnorm(2, 0.0, torch.tensor([5.0, 5.0]), torch.tensor([1.0, 7.0]))
    tensor([1., 7.])

    The mean of 1 and 49 is 25, and its root 5.

    Source: Zhang and Sennrich 2019, section 3.

    Ask yourself:
    * Is eps under the root, or beside it?
    * What is 300 squared in float16, whose largest number is 65504?
    """
    raise NotImplementedError("rmsnorm is not written yet")


def softmax(in_features: Tensor, dim: int) -> Tensor:
    """Turn the numbers along an axis into positive shares that sum to 1.

        softmax(x)_i = exp(x_i) / (sum of exp(x_j) over j)

    Shapes: (...) -> the same (...).

    >>> import math, torch
    >>> softmax(torch.tensor([0.0, math.log(3.0)]), dim=-1)
    tensor([0.2500, 0.7500])

    Ask yourself:
    * What happens to the shares if the same number is added to every x, and how does that help
      against exp(1000)?
    """
    raise NotImplementedError("softmax is not written yet")
