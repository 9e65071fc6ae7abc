"""Part 1, norms: keep the features of every token at the same scale.

Papers: Ba et al. 2016, "Layer Normalization"; Zhang and Sennrich 2019, "Root Mean Square Layer
Normalization".
"""

import torch
from torch import Tensor


def layer_norm(in_features: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Give the features of each vector mean 0 and variance 1, then a gain and a shift each.

        y_i = (x_i - mean) / sqrt(variance + eps) * weight_i + bias_i

    where mean and variance are those of the d numbers of one vector, and the variance is the mean
    of the squared distances from the mean.

    Shapes: `in_features` (..., d), `weight` (d,), `bias` (d,) -> (..., d).

    >>> import torch
    >>> layer_norm(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 10.0]), torch.zeros(2), 0.0)
    tensor([-1., 10.])

    The mean is 2 and the variance 1, so that the vector is (-1, 1) before its gain.

    Source: Ba et al. 2016, section 3.

    Ask yourself:
    * By what do you divide the sum of the squares, d or d - 1? What does `torch.var` do?
    * Which axis do you average over, and does the result still line up with the input?
    * What becomes of the variance if you compute it as the mean of x² minus the square of the mean,
      and all features are near 1000?
    """
    raise NotImplementedError("layer_norm is not written yet")


def rms_norm(in_features: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Divide each vector by its root mean square, then give each feature a gain.

        y_i = x_i / sqrt(mean of x_j^2 over j + eps) * weight_i

    Shapes: `in_features` (..., d), `weight` (d,) -> (..., d).

    >>> import torch
    >>> rms_norm(torch.tensor([1.0, 7.0]), torch.tensor([5.0, 5.0]), 0.0)
    tensor([1., 7.])

    The mean of 1 and 49 is 25, and its root 5.

    Source: Zhang and Sennrich 2019, section 3.

    Ask yourself:
    * What does a layer norm do that this one leaves out?
    * Is eps under the root, or beside it?
    """
    raise NotImplementedError("rms_norm is not written yet")
