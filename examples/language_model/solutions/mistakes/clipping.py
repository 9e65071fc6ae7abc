"""Mistakes in the clipping of gradients."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from .mistake import Mistake

_EPS = 1e-6


def _total(gradients: list[Tensor]) -> Tensor:
    return torch.cat([one.flatten() for one in gradients]).norm()


def _clipping(change: Callable[[list[Tensor], float], None]) -> Callable[..., None]:
    """Returns a clipping that applies `change` to the list of gradients."""

    def gradient_clipping(parameters: Iterable[torch.nn.Parameter], max_l2_norm: float) -> None:
        change([one.grad for one in parameters if one.grad is not None], max_l2_norm)

    return gradient_clipping


def _by(norm: Callable[[list[Tensor]], Tensor]) -> Callable[[list[Tensor], float], None]:
    def change(gradients: list[Tensor], largest: float) -> None:
        size = norm(gradients)
        if size > largest:
            for gradient in gradients:
                gradient.mul_(largest / (size + _EPS))

    return change


def _each(gradients: list[Tensor], largest: float) -> None:
    for gradient in gradients:
        _by(_total)([gradient], largest)


def _always(gradients: list[Tensor], largest: float) -> None:
    size = _total(gradients)
    for gradient in gradients:
        gradient.mul_(largest / (size + _EPS))


def _each_always(gradients: list[Tensor], largest: float) -> None:
    for gradient in gradients:
        _always([gradient], largest)


def _numbers(gradients: list[Tensor], largest: float) -> None:
    for gradient in gradients:
        gradient.clamp_(-largest, largest)


def _without_limit(gradients: list[Tensor], largest: float) -> None:
    size = _total(gradients)
    if size > largest:
        for gradient in gradients:
            gradient.div_(size + _EPS)


def _not_in_place(gradients: list[Tensor], largest: float) -> None:
    size = _total(gradients)
    for gradient in gradients:
        gradient = gradient * min(1.0, float(largest / (size + _EPS)))


def _weights_clipped(parameters: Iterable[torch.nn.Parameter], max_l2_norm: float) -> None:
    with torch.no_grad():
        _by(_total)([one.data for one in parameters], max_l2_norm)


def _weights_measured(parameters: Iterable[torch.nn.Parameter], max_l2_norm: float) -> None:
    several = list(parameters)
    _by_weights_of(several, max_l2_norm)


def _trained_weights_measured(parameters: Iterable[torch.nn.Parameter], max_l2_norm: float) -> None:
    several = [one for one in parameters if one.grad is not None]
    _by_weights_of(several, max_l2_norm)


def _by_weights_of(several: list[torch.nn.Parameter], max_l2_norm: float) -> None:
    size = _total([one.data for one in several])
    for one in several:
        if one.grad is not None and size > max_l2_norm:
            one.grad.mul_(max_l2_norm / (size + _EPS))


def _all_have_gradients(parameters: Iterable[torch.nn.Parameter], max_l2_norm: float) -> None:
    _by(_total)([one.grad for one in parameters], max_l2_norm)


def _read_twice(parameters: Iterable[torch.nn.Parameter], max_l2_norm: float) -> None:
    size = _total([one.grad for one in parameters if one.grad is not None])
    for one in parameters:
        if one.grad is not None and size > max_l2_norm:
            one.grad.mul_(max_l2_norm / (size + _EPS))


def _mistake(id: str, explanation: str, hint: str, *variants: Callable[..., None]) -> Mistake:
    return Mistake(id, explanation, hint, {"run_gradient_clipping": variants})


MISTAKES = (
    _mistake(
        "clipping-each-alone",
        "Your gradients are clipped one by one, each by its own norm instead of the norm of all "
        "together.",
        "If one gradient is clipped and another is not, which way does the whole step point?",
        _clipping(_each),
    ),
    _mistake(
        "clipping-always",
        "Your gradients are scaled even where their norm is small enough.",
        "Where the norm is below the limit, should gradients change?",
        _clipping(_always),
    ),
    _mistake(
        "clipping-each-to-the-limit",
        "Each of your gradients is scaled to the limit by its own norm, even where it is small.",
        "Which norm does the limit hold for, and do gradients change where it is small enough?",
        _clipping(_each_always),
    ),
    _mistake(
        "clipping-another-norm",
        "Your norm is not the l2 norm.",
        "How large is the l2 norm of the gradients 3 and 4?",
        _clipping(_by(lambda gradients: sum(one.abs().sum() for one in gradients))),
        _clipping(_by(lambda gradients: sum(one.norm() for one in gradients))),
        _clipping(_by(lambda gradients: max(one.abs().max() for one in gradients))),
    ),
    _mistake(
        "clipping-root-missing",
        "Your norm is the sum of the squares, without its root.",
        "How large is the l2 norm of the gradients 3 and 4?",
        _clipping(_by(lambda gradients: sum(one.square().sum() for one in gradients))),
    ),
    _mistake(
        "clipping-numbers",
        "Your gradients are clipped number by number, but all should be scaled by one factor.",
        "Does the step still point where it pointed before?",
        _clipping(_numbers),
    ),
    _mistake(
        "clipping-to-one",
        "Your gradients are scaled to a norm of 1, whatever the limit is.",
        "How large is the norm after your scaling, and how large should it be?",
        _clipping(_without_limit),
    ),
    _mistake(
        "clipping-not-in-place",
        "Your gradients are scaled, and then the results are thrown away.",
        "Which attribute of a parameter does the optimizer read, and does your code change it?",
        _clipping(_not_in_place),
    ),
    _mistake(
        "clipping-weights",
        "Your clipping uses the norm of the weights instead of the norm of their gradients.",
        "Which attribute of a parameter holds its gradient?",
        _weights_clipped,
        _weights_measured,
        _trained_weights_measured,
    ),
    _mistake(
        "clipping-without-gradient",
        "Your clipping fails where a parameter has no gradient.",
        "Which `.grad` does a parameter have that had no part in the loss?",
        _all_have_gradients,
    ),
    _mistake(
        "clipping-parameters-read-twice",
        "You go through the parameters twice: a generator is used up the first time.",
        "How many parameters does your second loop see, if `model.parameters()` was passed?",
        _read_twice,
    ),
)
