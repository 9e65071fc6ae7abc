"""The worked example: six tokens ("Your journey starts with one step") and the weights of one head.

What comes of them is rounded to four decimals. A test that begins with these tokens goes on with
others: what is known in advance can be remembered.
"""

import torch

TOKENS = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)
OF_OTHER_TOKENS = "the result for other tokens"
W_QUERY = torch.tensor([[0.2961, 0.5166], [0.2517, 0.6886], [0.0740, 0.8665]])
W_KEY = torch.tensor([[0.1366, 0.1025], [0.1841, 0.7264], [0.3153, 0.6871]])
W_VALUE = torch.tensor([[0.0756, 0.1966], [0.3164, 0.4017], [0.1186, 0.8274]])


def batch_of_two(x: torch.Tensor) -> torch.Tensor:
    """The same twice, along a new first axis."""
    return torch.stack((x, x))


def projected(tokens: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """What weights make of tokens, to the last bit the same on every processor.

    Processors add up in another order, and what is asked must not depend on whose: added up in
    float64, hardly anything is left to be rounded otherwise.
    """
    return (tokens.double() @ weights.double()).to(tokens.dtype)
