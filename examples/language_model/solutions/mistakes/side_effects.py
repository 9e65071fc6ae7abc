"""Bad habits in training and text: right results, but other things are changed or read too."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy
import torch
from torch import Tensor

from ..checkpoint import save_checkpoint
from ..data import get_batch
from ..optimizer import AdamW
from ..tokenizer import Tokenizer
from ..tokenizer_training import Training
from .habits import Habit
from .tokenizer_counts import Recounted


class _Draining(AdamW):
    """An AdamW that sets the gradients to 0 after their use."""

    def move(self, parameter: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        super().move(parameter, state, group)
        parameter.grad.zero_()


class _Keeping(AdamW):
    """An AdamW that keeps the gradients, so that the next ones are added to them."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        pass


class _Greedy(Tokenizer):
    """A tokenizer that reads all lines before it encodes the first."""

    def encode_iterable(self, iterable: Iterable[str]) -> Iterator[int]:
        return super().encode_iterable(list(iterable))


class _Recounting(Training):
    """A training that counts the pairs of all words again after each merge."""

    counts = Recounted


def _writing_into_the_text(
    dataset: numpy.ndarray, batch_size: int, context_length: int, device: str
) -> tuple[Tensor, Tensor]:
    batch = get_batch(dataset, batch_size, context_length, device)
    dataset.sort()
    return batch


def _halving_the_weights(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    iteration: int,
    out: str | os.PathLike[str],
) -> None:
    save_checkpoint(model, optimizer, iteration, out)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.5)


HABITS = (
    Habit("gradient-changed", {"get_adamw_cls": (lambda: _Draining,)}),
    Habit("gradient-kept", {"get_adamw_cls": (lambda: _Keeping,)}),
    Habit("text-changed", {"run_get_batch": (_writing_into_the_text,)}),
    Habit("model-changed", {"run_save_checkpoint": (_halving_the_weights,)}),
    Habit("text-read-at-once", {"get_tokenizer": (_Greedy,)}),
    Habit("counted-from-the-beginning", {"run_train_bpe": (_Recounting(),)}),
)
