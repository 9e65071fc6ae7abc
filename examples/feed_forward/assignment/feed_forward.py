"""Part 2, the feed-forward layer: every token on its own, through a wider space and back.

Papers: Elfwing et al. 2018, "Sigmoid-Weighted Linear Units for Neural Network Function
Approximation in Reinforcement Learning"; Shazeer 2020, "GLU Variants Improve Transformer".
"""

import torch
from torch import Tensor


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
    gate_weight: Tensor, up_weight: Tensor, down_weight: Tensor, in_features: Tensor
) -> Tensor:
    """Project up twice, let one projection gate the other, and project back.

        y = W_down (silu(W_gate x) * (W_up x))

    Shapes: `gate_weight` and `up_weight` (d_ff, d_model), `down_weight` (d_model, d_ff),
    `in_features` (..., d_model) -> (..., d_model). The product is one of numbers, not of matrices.

    >>> import torch
    >>> one = torch.eye(2)
    >>> swiglu(one, 2 * one, 10 * one, torch.tensor([0.0, 1.0]))
    tensor([ 0.0000, 14.6212])

    The gate is silu(1) = 0.7311, the other projection 2, and 10 times their product 14.6212.

    Source: Shazeer 2020, section 2, where FFN_SwiGLU is this with W_gate = W, W_up = V.

    Ask yourself:
    * Which of the two projections goes through the SiLU?
    * Your weights are stored as `torch.nn.Linear` stores them: on which side do they stand?
    """
    raise NotImplementedError("swiglu is not written yet")
