"""The right steps: small functions of which the answers consist."""

import math

import torch
from torch import Tensor

# --- Attention ----------------------------------------------------------------------------------


def softmax(in_features: Tensor, dim: int) -> Tensor:
    """Turns the numbers along `dim` into positive shares that sum to 1.

    Subtracting the largest number changes no share and keeps `exp` from overflowing.
    """
    largest = in_features.amax(dim=dim, keepdim=True)
    exponentials = torch.exp(in_features - largest)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def similarity(queries: Tensor, keys: Tensor) -> Tensor:
    """Scores every key for every query by their dot product, `... queries keys`."""
    return queries @ keys.transpose(-2, -1)


def scale(scores: Tensor, d_k: int, _width: int) -> Tensor:
    """Divides by the root of the number of features of a query.

    `_width` is the number of features of the tokens behind the queries, which is not used here.
    """
    return scores / math.sqrt(d_k)


def scale_unweighted(scores: Tensor, _d: int) -> Tensor:
    """Leaves the scores of attention without weights as they are."""
    return scores


def mask_scores(scaled: Tensor, mask: Tensor) -> Tensor:
    """Gives hidden keys a score from which the softmax makes a weight of 0."""
    return scaled.masked_fill(~mask, -torch.inf)


def mask_weights(weights: Tensor, _mask: Tensor) -> Tensor:
    """Leaves the weights as they are: the mask already changed the scores."""
    return weights


def causal_mask(seq_len: int) -> Tensor:
    """Allows each position (row) itself and all earlier ones (columns)."""
    positions = torch.arange(seq_len)
    return positions[:, None] >= positions[None, :]


def mask_as_given(mask: Tensor, _positions: Tensor) -> Tensor:
    """Returns the mask: tokens come in order, whatever their positions are."""
    return mask


def no_mask(_queries: int, _keys: int) -> Tensor | None:
    """Returns no mask, because the caller asked for none."""
    return None


# --- Projections and heads ----------------------------------------------------------------------


def in_order(first: Tensor, second: Tensor, third: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Keeps the order of queries, keys and values."""
    return first, second, third


def multiply(features: Tensor, weight: Tensor) -> Tensor:
    """Projects with a weight of shape `d_in d_out`."""
    return features @ weight


def multiply_transposed(features: Tensor, weight: Tensor) -> Tensor:
    """Projects with a weight of shape `d_out d_in`, as `torch.nn.Linear` keeps it."""
    return features @ weight.T


def own_weights(weights: Tensor) -> Tensor:
    """Lets each of the stacked heads use its own weight, `heads d_in d_head`."""
    return weights


def split_heads(features: Tensor, num_heads: int) -> Tensor:
    """Cuts `... seq (heads d_head)` into `... heads seq d_head`."""
    return features.unflatten(-1, (num_heads, -1)).transpose(-3, -2)


def merge_heads(heads: Tensor) -> Tensor:
    """Undoes `split_heads`: from `... heads seq d_head` to `... seq (heads d_head)`."""
    return heads.transpose(-3, -2).flatten(-2)


# --- Positions ----------------------------------------------------------------------------------


def as_given(positions: Tensor) -> Tensor:
    """Takes positions as they are."""
    return positions


def rope_frequencies(first_of_pair: Tensor, d_k: int, theta: float) -> Tensor:
    """Lets pair k = 0, 1, 2, ..., whose first feature is 2k, turn by `theta ** (-2k / d_k)`."""
    return theta ** (-first_of_pair / d_k)


def radians(angles: Tensor) -> Tensor:
    """Takes angles in radians, as `sin` and `cos` do."""
    return angles


def rotate(vectors: Tensor, angles: Tensor) -> Tensor:
    """Turns the pairs (0, 1), (2, 3), ... of each vector counter-clockwise."""
    cos, sin = torch.cos(angles), torch.sin(angles)
    first, second = vectors[..., 0::2], vectors[..., 1::2]
    rotated = torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1)
    return rotated.flatten(-2)


def wave_angles(positions: Tensor, d_model: int) -> tuple[Tensor, Tensor]:
    """Lets pair i = 0, 1, 2, ... oscillate by `10000 ** (-2i / d_model)`, sine and cosine alike."""
    first_of_pair = torch.arange(0, d_model, 2, dtype=torch.float64)
    angles = positions[:, None].to(torch.float64) * 10000.0 ** (-first_of_pair / d_model)
    return angles, angles


def side_by_side(sines: Tensor, cosines: Tensor) -> Tensor:
    """Puts each cosine after its sine."""
    return torch.stack((sines, cosines), dim=-1).flatten(-2)


# --- Dropout and parameters ---------------------------------------------------------------------


def drops(p: float, training: bool) -> bool:
    """Drops in training only."""
    return training and p > 0


def kept(weights: Tensor, p: float) -> Tensor:
    """Chooses the weights that stay, each on its own: True with probability `1 - p`."""
    return torch.rand_like(weights) >= p


def rescale(weights: Tensor, p: float) -> Tensor:
    """Scales the weights that stay, so that the mean does not change."""
    return weights / (1 - p)


def count_inputs(d_in: int, d_out: int, bias: bool) -> int:
    """Counts the parameters of the query, key and value projections, each from d_in to d_out."""
    return 3 * (d_in * d_out + d_out * bias)


def count_output(_d_in: int, d_out: int, bias: bool) -> int:
    """Counts the parameters of the output projection, from d_out to d_out."""
    return d_out * d_out + d_out * bias
