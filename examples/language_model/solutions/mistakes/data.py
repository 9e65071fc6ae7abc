"""Mistakes in batches."""

from collections.abc import Callable

import numpy
import torch
from torch import Tensor

from .mistake import Mistake

Batch = tuple[Tensor, Tensor]


def _batch(
    starts: Callable[[int, int, int], Tensor] = lambda size, context, count: torch.randint(
        0, size - context, (count, 1)
    ),
    inputs_from: int = 0,
    targets_from: int = 1,
    dtype: torch.dtype = torch.int64,
    elsewhere: bool = True,
) -> Callable[..., Batch]:
    """Returns a batch function with some of its parts replaced."""

    def get_batch(
        dataset: numpy.ndarray, batch_size: int, context_length: int, device: str
    ) -> Batch:
        first = starts(len(dataset), context_length, batch_size)
        places = first + torch.arange(context_length)
        tokens = torch.from_numpy(dataset.astype("int64"))
        found = (tokens[places + shift].to(dtype) for shift in (inputs_from, targets_from))
        inputs, targets = (one.to(device) if elsewhere else one for one in found)
        return inputs, targets

    return get_batch


def _last_never(size: int, context: int, count: int) -> Tensor:
    return torch.randint(0, size - context - 1, (count, 1))


def _too_far(size: int, context: int, count: int) -> Tensor:
    return torch.randint(0, size - context + 1, (count, 1))


def _first_never(size: int, context: int, count: int) -> Tensor:
    return torch.randint(1, size - context, (count, 1))


def _one_for_all(size: int, context: int, count: int) -> Tensor:
    return torch.randint(0, size - context, (1, 1)).expand(count, 1)


def _in_a_row(size: int, context: int, count: int) -> Tensor:
    first = torch.randint(0, size - context, (1, 1))
    return (first + torch.arange(count)[:, None]) % (size - context)


def _at_multiples(size: int, context: int, count: int) -> Tensor:
    return torch.randint(0, (size - 1) // context, (count, 1)) * context


def _never_twice(size: int, context: int, count: int) -> Tensor:
    return torch.randperm(size - context)[:count, None]


def _mistake(id: str, explanation: str, hint: str, *variants: Callable[..., Batch]) -> Mistake:
    return Mistake(id, explanation, hint, {"run_get_batch": variants})


MISTAKES = (
    _mistake(
        "batch-targets-not-shifted",
        "Your targets are the inputs themselves, but each should be the token that comes next.",
        "Which token should the model predict when it has seen a window up to one of its tokens?",
        _batch(targets_from=0),
    ),
    _mistake(
        "batch-targets-before",
        "Your targets are one token earlier than the inputs, but they should be one later.",
        "Which of your two windows should begin first?",
        _batch(inputs_from=1, targets_from=0),
    ),
    _mistake(
        "batch-last-start-missing",
        "Your windows never begin at the last possible place.",
        "In a text of n tokens, which is the last that can be a target, and where does its window "
        "begin? Does your random function ever return its upper bound?",
        _batch(starts=_last_never),
    ),
    _mistake(
        "batch-first-start-missing",
        "Your windows never begin at the first token.",
        "Which is the smallest number that your random function returns?",
        _batch(starts=_first_never),
    ),
    _mistake(
        "batch-start-too-far",
        "Some of your windows begin so late that no token is left for their last target.",
        "In a text of n tokens, which is the last that can be a target, and where does its window "
        "begin?",
        _batch(starts=_too_far),
    ),
    _mistake(
        "batch-one-start",
        "Your windows all begin at the same place or one after another, but each place should "
        "be random.",
        "How many random numbers does a batch of 32 windows need?",
        _batch(starts=_one_for_all),
        _batch(starts=_in_a_row),
    ),
    _mistake(
        "batch-starts-at-multiples",
        "Your windows never begin at some of the places at which they could.",
        "At how many places can a window begin, in a text of n tokens?",
        _batch(starts=_at_multiples),
    ),
    _mistake(
        "batch-never-repeats",
        "No window comes twice in a batch of yours, but each should be drawn by itself.",
        "How many windows does a batch of 32 have, in a text with room for ten?",
        _batch(starts=_never_twice),
    ),
    _mistake(
        "batch-dtype",
        "Your batch does not have int64, the dtype of token ids in torch.",
        "Which dtypes does an embedding take, and which does a loss?",
        _batch(dtype=torch.int32),
    ),
    _mistake(
        "batch-device-ignored",
        "Your batch stays on the CPU, whatever `device` says.",
        "Which argument does your code never use?",
        _batch(elsewhere=False),
    ),
)
