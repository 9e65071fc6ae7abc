"""The contract: functions that take and return values of every kind that crosses."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, BinaryIO, Literal, NamedTuple, Protocol

import numpy
import torch
from jaxtyping import Float, Int
from torch import Tensor

import assignment


class Split(NamedTuple):
    """Two parts of a corpus, and how large a part the first is."""

    train: Int[numpy.ndarray, "train"]
    rest: Int[numpy.ndarray, "rest"]
    share: float


class Tokenizer(Protocol):
    """Texts to numbers of characters, and back."""

    size: int

    def encode(self, text: str) -> list[int]:
        """The number of each character."""

    def encode_each(self, texts: Iterable[str]) -> Iterator[int]:
        """The numbers of several texts, one after another."""

    def decode(self, ids: list[int]) -> str:
        """The text of numbers."""


class Optimizer(Protocol):
    """Plain gradient descent with momentum."""

    def __init__(self, parameters: list[torch.nn.Parameter], rate: float, momentum: float) -> None:
        """What is to be optimised, and how."""

    def step(self) -> None:
        """Moves every parameter against its gradient."""


def run_counts(text: str) -> dict[str, int]:
    """How often each word stands in a text."""
    return assignment.counts(text)


def run_tokens(data: bytes) -> list[int]:
    """The numbers of bytes."""
    return assignment.tokens(data)


def run_pairs(ids: Sequence[int]) -> list[tuple[int, int]]:
    """Each number with the next."""
    return assignment.pairs(ids)


def run_split(corpus: Int[numpy.ndarray, "all"], share: float) -> Split:
    """The first `share` of a corpus, and the rest."""
    return assignment.split(corpus, share)


def run_layers(
    weights: Mapping[str, Float[Tensor, "..."]], x: Float[Tensor, "... d"]
) -> tuple[Float[Tensor, "... d"], dict[str, Float[Tensor, "d"]]]:
    """`x * scale + shift`, and the weights that were used."""
    return assignment.layers(weights, x)


def run_vocabulary(words: list[str], special: tuple[str, ...] | None = None) -> set[bytes]:
    """The words and special tokens in UTF-8."""
    return assignment.vocabulary(words, special)


def run_rate(step: int, kind: Literal["linear", "constant"], floor: float | None) -> float:
    """The learning rate of a step."""
    return assignment.rate(step, kind, floor)


def run_precision(name: str, device: torch.device) -> tuple[torch.dtype, bool]:
    """The dtype of a name, and whether a device computes well with it."""
    return assignment.precision(name, device)


def run_merges(merges: dict[tuple[bytes, bytes], int]) -> list[bytes]:
    """What is merged, in the order of rank."""
    return assignment.merges(merges)


def run_gains(losses: list[float]) -> list[float] | None:
    """By how much each loss is below the one before; None if there are fewer than two."""
    return assignment.gains(losses)


def get_tokenizer(alphabet: str) -> Tokenizer:
    """A tokenizer of the characters of an alphabet."""
    return assignment.tokenizer(alphabet)


def get_optimizer_class() -> type[Optimizer]:
    """The class of optimizers."""
    return assignment.optimizer_class()


def run_clipping(parameters: Iterable[torch.nn.Parameter], largest: float) -> None:
    """Scales the gradients so that none is larger in absolute value."""
    return assignment.clipping(parameters, largest)


def run_save(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    iteration: int,
    out: str | os.PathLike | BinaryIO | IO[bytes],
) -> None:
    """Writes a checkpoint."""
    return assignment.save(model, optimizer, iteration, out)


def run_load(
    src: str | os.PathLike | BinaryIO | IO[bytes],
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
) -> int:
    """Reads what `run_save` wrote, and tells the iteration."""
    return assignment.load(src, model, optimizer)


def run_most_common(path: str | os.PathLike, **kwargs: Any) -> tuple[str, int]:
    """The most common character of a file, and how often it is there."""
    return assignment.most_common(path, **kwargs)


def run_lengths(lines: Iterable[str]) -> Iterator[int]:
    """The length of each line, without its end."""
    return assignment.lengths(lines)


def run_windows(corpus: Int[Tensor, "all"], length: int, count: int) -> Int[Tensor, "count length"]:
    """So many windows of a corpus, each from a random place."""
    return assignment.windows(corpus, length, count)


def run_training(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n 1"],
) -> Iterator[float]:
    """Trains a model on squares of errors without an end; gives the loss before each step."""
    return assignment.training(model, optimizer, x, y)


def run_primes(start: int) -> Iterator[int]:
    """The prime numbers from `start` on, without an end."""
    return assignment.primes(start)
