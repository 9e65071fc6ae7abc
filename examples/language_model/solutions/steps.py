"""The right steps of the model: small functions of which the answers consist."""

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

Layer = Callable[[Tensor], Tensor]

# --- Layers -------------------------------------------------------------------------------------


def multiply_transposed(features: Tensor, weight: Tensor) -> Tensor:
    """Projects with a weight of shape `d_out d_in`, as `torch.nn.Linear` keeps it."""
    return features @ weight.T


def look_up(weights: Tensor, token_ids: Tensor) -> Tensor:
    """Takes the row of each token."""
    return weights[token_ids]


def silu(in_features: Tensor) -> Tensor:
    """Multiplies each number by its own sigmoid."""
    return in_features * torch.sigmoid(in_features)


def gate(opened: Tensor, gated: Tensor) -> Tensor:
    """Multiplies one projection by the other, number by number."""
    return opened * gated


def mean_square(in_features: Tensor) -> Tensor:
    """Returns the mean of the squares of each vector."""
    return in_features.square().mean(-1, keepdim=True)


def divide_by_root(in_features: Tensor, squared: Tensor, eps: float) -> Tensor:
    """Divides each vector by a root, which eps keeps above 0."""
    return in_features / torch.sqrt(squared + eps)


def gain(normalised: Tensor, weights: Tensor) -> Tensor:
    """Gives each feature its own scale."""
    return normalised * weights


def softmax(in_features: Tensor, dim: int) -> Tensor:
    """Turns the numbers along `dim` into positive shares that sum to 1.

    Subtracting the largest number changes no share and keeps `exp` from overflowing.
    """
    largest = in_features.amax(dim=dim, keepdim=True)
    exponentials = torch.exp(in_features - largest)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


# --- Attention ----------------------------------------------------------------------------------


def similarity(queries: Tensor, keys: Tensor) -> Tensor:
    """Scores every key for every query by their dot product, `... queries keys`."""
    return queries @ keys.transpose(-2, -1)


def scale(scores: Tensor, d_k: int, _width: int) -> Tensor:
    """Divides by the root of the number of features of a query.

    `_width` is the number of features of the tokens behind the queries, which is not used here.
    """
    return scores / math.sqrt(d_k)


def no_mask(_queries: int, _keys: int) -> Tensor | None:
    """Returns no mask, because the caller asked for none."""
    return None


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


def in_order(first: Tensor, second: Tensor, third: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Keeps the order of three tensors."""
    return first, second, third


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


def rotate(vectors: Tensor, angles: Tensor) -> Tensor:
    """Turns the pairs (0, 1), (2, 3), ... of each vector counter-clockwise."""
    cos, sin = torch.cos(angles), torch.sin(angles)
    first, second = vectors[..., 0::2], vectors[..., 1::2]
    rotated = torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1)
    return rotated.flatten(-2)


# --- The model ----------------------------------------------------------------------------------


def pre_norm(x: Tensor, norm_1: Layer, attend: Layer, norm_2: Layer, feed: Layer) -> Tensor:
    """Adds each layer's output for the normalised tokens to the tokens."""
    y = x + attend(norm_1(x))
    return y + feed(norm_2(y))


def norms_in_order(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Gives each norm its own weights."""
    return first, second


def bottom_up(x: Tensor, blocks: Iterable[Layer], norm: Layer, head: Layer) -> Tensor:
    """Passes tokens through one block after another, a norm and the head."""
    for block in blocks:
        x = block(x)
    return head(norm(x))


def own_layer(block: int, _blocks: int) -> int:
    """Gives each block the weights of its own number."""
    return block


def own_head(_token_embeddings: Tensor, lm_head: Tensor) -> Tensor:
    """Lets the head have weights of its own."""
    return lm_head


# --- The loss -----------------------------------------------------------------------------------


def surprise(inputs: Tensor, targets: Tensor) -> Tensor:
    """Returns the negative logarithm of each target's probability, without any probabilities."""
    shifted = inputs - inputs.amax(dim=-1, keepdim=True)
    of_targets = shifted.gather(-1, targets[:, None]).squeeze(-1)
    return shifted.exp().sum(-1).log() - of_targets


def average(surprises: Tensor, _inputs: Tensor) -> Tensor:
    """Returns the mean over the examples."""
    return surprises.mean()
