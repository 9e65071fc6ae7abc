"""Mistakes in the loss."""

import math

import torch
from torch import Tensor

from ..steps import surprise
from .mistake import Mistake, Way, ways

_LOSS = ("run_cross_entropy",)


def _added_up(surprises: Tensor, _inputs: Tensor) -> Tensor:
    return surprises.sum()


def _over_all_scores(surprises: Tensor, inputs: Tensor) -> Tensor:
    return surprises.sum() / inputs.numel()


def _over_vocabulary(surprises: Tensor, inputs: Tensor) -> Tensor:
    return surprises.sum() / inputs.shape[-1]


def _exponential(surprises: Tensor, _inputs: Tensor) -> Tensor:
    return surprises.mean().exp()


def _positive(inputs: Tensor, targets: Tensor) -> Tensor:
    return -surprise(inputs, targets)


def _probabilities_alone(inputs: Tensor, targets: Tensor) -> Tensor:
    return -torch.exp(-surprise(inputs, targets))


def _in_bits(inputs: Tensor, targets: Tensor) -> Tensor:
    return surprise(inputs, targets) / math.log(2.0)


def _twice_normalised(inputs: Tensor, targets: Tensor) -> Tensor:
    return surprise(torch.softmax(inputs, dim=-1), targets)


def _logarithm_of_softmax(inputs: Tensor, targets: Tensor) -> Tensor:
    probabilities = torch.softmax(inputs, dim=-1)
    return -probabilities.gather(-1, targets[:, None]).squeeze(-1).log()


def _exponentials_as_they_are(inputs: Tensor, targets: Tensor) -> Tensor:
    exponentials = inputs.exp()
    of_targets = exponentials.gather(-1, targets[:, None]).squeeze(-1)
    return -torch.log(of_targets / exponentials.sum(dim=-1))


def _logarithm_of_exponentials(inputs: Tensor, targets: Tensor) -> Tensor:
    return inputs.exp().sum(-1).log() - inputs.gather(-1, targets[:, None]).squeeze(-1)


def _over_examples(inputs: Tensor, targets: Tensor) -> Tensor:
    return -torch.log_softmax(inputs, dim=0).gather(-1, targets[:, None]).squeeze(-1)


def _over_everything(inputs: Tensor, targets: Tensor) -> Tensor:
    whole = torch.log_softmax(inputs.flatten(), dim=0).view(inputs.shape)
    return -whole.gather(-1, targets[:, None]).squeeze(-1)


def _unnormalised(inputs: Tensor, targets: Tensor) -> Tensor:
    return -inputs.gather(-1, targets[:, None]).squeeze(-1)


def _largest_for_sum(inputs: Tensor, targets: Tensor) -> Tensor:
    return inputs.amax(dim=-1) - inputs.gather(-1, targets[:, None]).squeeze(-1)


def _others_as_well(inputs: Tensor, targets: Tensor) -> Tensor:
    others = torch.ones_like(inputs).scatter(-1, targets[:, None], 0.0)
    of_others = torch.log1p(-others * torch.softmax(inputs, dim=-1))
    return surprise(inputs, targets) - of_others.sum(-1)


def _every_target(inputs: Tensor, targets: Tensor) -> Tensor:
    return -torch.log_softmax(inputs, dim=-1)[:, targets]


MISTAKES = (
    Mistake(
        "loss-summed",
        "Your loss is the sum over the examples instead of their mean.",
        "How should the loss change if every example comes twice?",
        ways(Way(_LOSS, {"average": _added_up})),
    ),
    Mistake(
        "loss-over-all-scores",
        "Your mean divides by the number of scores instead of the number of examples.",
        "Which values do you sum up, and how many of them are there?",
        ways(
            Way(_LOSS, {"average": _over_all_scores}),
            Way(_LOSS, {"average": _over_vocabulary}),
        ),
    ),
    Mistake(
        "loss-perplexity",
        "You return the exponential of the loss, which is called perplexity.",
        "How large should the loss be if every target has the probability 1?",
        ways(Way(_LOSS, {"average": _exponential})),
    ),
    Mistake(
        "loss-sign",
        "Your loss has the wrong sign.",
        "Is the logarithm of a probability positive or negative, and which should a loss be?",
        ways(Way(_LOSS, {"surprise": _positive})),
    ),
    Mistake(
        "loss-without-logarithm",
        "Your loss averages probabilities, not their logarithms.",
        "How large should the loss of a target with the probability 0 be?",
        ways(Way(_LOSS, {"surprise": _probabilities_alone})),
    ),
    Mistake(
        "loss-in-bits",
        "Your logarithm has the base 2.",
        "Which logarithm undoes the exponential of the softmax?",
        ways(Way(_LOSS, {"surprise": _in_bits})),
    ),
    Mistake(
        "loss-softmax-twice",
        "Your scores go through a softmax twice.",
        "Does the function that you call with probabilities expect probabilities, or scores?",
        ways(Way(_LOSS, {"surprise": _twice_normalised})),
    ),
    Mistake(
        "loss-unstable",
        "Your loss is infinite or NaN for large scores: an exponential overflows, or a "
        "probability is rounded to 0 before its logarithm.",
        "Write down the logarithm of exp(x) / sum: which exponential can you save, and which "
        "number can you subtract from all scores?",
        ways(
            Way(_LOSS, {"surprise": _logarithm_of_softmax}),
            Way(_LOSS, {"surprise": _logarithm_of_exponentials}),
            Way(_LOSS, {"surprise": _exponentials_as_they_are}),
        ),
        own_dtype=True,
    ),
    Mistake(
        "loss-over-examples",
        "Your softmax runs over the examples, but each example has its own.",
        "Which probabilities must sum to 1, and along which axis do they lie?",
        ways(Way(_LOSS, {"surprise": _over_examples}), Way(_LOSS, {"surprise": _over_everything})),
    ),
    Mistake(
        "loss-unnormalised",
        "Your loss uses only the scores of the targets, and not those of the other tokens.",
        "How should the loss change if all scores grow by the same number?",
        ways(Way(_LOSS, {"surprise": _unnormalised})),
    ),
    Mistake(
        "loss-largest-for-sum",
        "Your loss compares the target's score with the largest one, and leaves out the logarithm "
        "of the sum.",
        "Should the loss be 0 as soon as the target has the largest score?",
        ways(Way(_LOSS, {"surprise": _largest_for_sum})),
    ),
    Mistake(
        "loss-binary",
        "Your loss counts every token of the vocabulary, as if each were a question of its own.",
        "How many logarithms does the formula have for each example?",
        ways(Way(_LOSS, {"surprise": _others_as_well})),
    ),
    Mistake(
        "loss-of-every-target",
        "Your loss uses the targets of all examples for each example.",
        "Which shape has your tensor of log probabilities before you average, and which should it "
        "have?",
        ways(Way(_LOSS, {"surprise": _every_target})),
    ),
)
