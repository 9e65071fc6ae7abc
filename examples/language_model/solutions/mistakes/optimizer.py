"""Mistakes in AdamW."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..optimizer import AdamW
from .mistake import Mistake, Replacing


def _left_out(_optimizer: AdamW, _parameter: Tensor, _group: dict[str, Any]) -> None:
    """Does nothing."""


def _uncorrected(
    _optimizer: AdamW, state: dict[str, Any], _beta1: float, _beta2: float
) -> tuple[Tensor, Tensor]:
    return state["m"], state["v"]


def _first_corrected(
    _optimizer: AdamW, state: dict[str, Any], beta1: float, _beta2: float
) -> tuple[Tensor, Tensor]:
    return state["m"] / (1 - beta1 ** state["t"]), state["v"]


def _second_corrected(
    _optimizer: AdamW, state: dict[str, Any], _beta1: float, beta2: float
) -> tuple[Tensor, Tensor]:
    return state["m"], state["v"] / (1 - beta2 ** state["t"])


def _one_step_behind(
    _optimizer: AdamW, state: dict[str, Any], beta1: float, beta2: float
) -> tuple[Tensor, Tensor]:
    t = state["t"] - 1
    return state["m"] / (1 - beta1**t), state["v"] / (1 - beta2**t)


def _one_step_ahead(
    _optimizer: AdamW, state: dict[str, Any], beta1: float, beta2: float
) -> tuple[Tensor, Tensor]:
    t = state["t"] + 1
    return state["m"] / (1 - beta1**t), state["v"] / (1 - beta2**t)


def _with_decay(_optimizer: AdamW, parameter: Tensor, group: dict[str, Any]) -> Tensor:
    return parameter.grad + group["weight_decay"] * parameter


def _decay_without_rate(_optimizer: AdamW, parameter: Tensor, group: dict[str, Any]) -> None:
    parameter -= group["weight_decay"] * parameter


def _growth(optimizer: AdamW, parameter: Tensor, group: dict[str, Any]) -> None:
    parameter += optimizer.rate(group) * group["weight_decay"] * parameter


def _eps_in_root(_optimizer: AdamW, mean_square: Tensor, eps: float) -> Tensor:
    return torch.sqrt(mean_square + eps)


def _no_root(_optimizer: AdamW, mean_square: Tensor, eps: float) -> Tensor:
    return mean_square + eps


def _betas_exchanged(_optimizer: AdamW, group: dict[str, Any]) -> tuple[float, float]:
    beta1, beta2 = group["betas"]
    return beta2, beta1


def _unsquared(change: Callable[[Tensor], Tensor]) -> Callable[..., None]:
    def remember(
        _optimizer: AdamW, state: dict[str, Any], gradient: Tensor, beta1: float, beta2: float
    ) -> None:
        state["m"] = beta1 * state["m"] + (1 - beta1) * gradient
        state["v"] = beta2 * state["v"] + (1 - beta2) * change(gradient)

    return remember


def _weights_exchanged(
    _optimizer: AdamW, state: dict[str, Any], gradient: Tensor, beta1: float, beta2: float
) -> None:
    state["m"] = (1 - beta1) * state["m"] + beta1 * gradient
    state["v"] = (1 - beta2) * state["v"] + beta2 * gradient.square()


def _forgetful(
    _optimizer: AdamW, state: dict[str, Any], gradient: Tensor, beta1: float, beta2: float
) -> None:
    state["m"] = (1 - beta1) * gradient
    state["v"] = (1 - beta2) * gradient.square()


def _mean_forgotten(
    _optimizer: AdamW, state: dict[str, Any], gradient: Tensor, beta1: float, beta2: float
) -> None:
    state["m"] = (1 - beta1) * gradient
    state["v"] = beta2 * state["v"] + (1 - beta2) * gradient.square()


def _squares_forgotten(
    _optimizer: AdamW, state: dict[str, Any], gradient: Tensor, beta1: float, beta2: float
) -> None:
    state["m"] = beta1 * state["m"] + (1 - beta1) * gradient
    state["v"] = (1 - beta2) * gradient.square()


def _shared_state(optimizer: AdamW, parameter: Tensor) -> dict[str, Any]:
    shared = optimizer.state["shared"]
    if not shared:
        shared |= {"t": 0, "m": torch.zeros_like(parameter), "v": torch.zeros_like(parameter)}
    return shared


class _SharedStep(AdamW):
    """An AdamW with one step count for all parameters, which each parameter raises."""

    t = 0

    def move(self, parameter: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["t"] = self.t
        super().move(parameter, state, group)
        self.t = state["t"]


class _CommonStep(AdamW):
    """An AdamW whose step count also goes on for parameters that have no gradient."""

    steps = 0

    def step(self, closure: Any = None) -> Any:
        self.steps += 1
        return super().step(closure)

    def move(self, parameter: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["t"] = self.steps - 1
        super().move(parameter, state, group)


class _DecayOfAll(AdamW):
    """An AdamW that also shrinks parameters that have no gradient."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    self.decay(parameter, group)
        return super().step(closure)


def _first_rate(optimizer: AdamW, _group: dict[str, Any]) -> float:
    return optimizer.defaults["lr"]


def _uphill(_optimizer: AdamW, parameter: Tensor, _group: dict[str, Any]) -> Tensor:
    return -parameter.grad


def _class_with(**replaced: Any) -> Callable[[], type[AdamW]]:
    """Returns a function that returns AdamW with some of its methods replaced."""
    return lambda: type("AdamW", (AdamW,), dict(replaced))


def _adamw(**replaced: Callable[..., Any]) -> Replacing:
    return Replacing(_class_with, replaced)


def _mistake(id: str, explanation: str, hint: str, *variants: Callable[[], type[AdamW]]) -> Mistake:
    return Mistake(id, explanation, hint, {"get_adamw_cls": variants}, common=True)


MISTAKES = (
    _mistake(
        "adamw-bias-not-corrected",
        "Your running means have no bias correction, so they are too close to 0 in the first "
        "steps.",
        "Which multiple of the first gradient is the mean after one step?",
        _adamw(unbiased=_uncorrected),
        _adamw(unbiased=_first_corrected),
        _adamw(unbiased=_second_corrected),
    ),
    _mistake(
        "adamw-step-miscounted",
        "The number of the step in your bias correction is off by one: the first step is number 1.",
        "How large is `1 - beta ** t` in the first step, if t starts where yours does?",
        _adamw(unbiased=_one_step_behind),
        _adamw(unbiased=_one_step_ahead),
    ),
    _mistake(
        "adamw-step-shared",
        "Your step is counted once for each parameter, so that all but the first are corrected as "
        "in a later step.",
        "With two parameters, what is t for the second of them after the first step?",
        lambda: _SharedStep,
    ),
    _mistake(
        "adamw-step-without-gradient",
        "Your step count goes on for a parameter that has no gradient, though its running means do "
        "not change.",
        "If a parameter's first gradient comes in the third step, what is t for it there?",
        lambda: _CommonStep,
    ),
    _mistake(
        "adamw-state-shared",
        "Your parameters share their running means, so that each sees the gradients of the others.",
        "By what is the state of a parameter looked up?",
        _adamw(state_of=_shared_state),
    ),
    _mistake(
        "adamw-decay-in-gradient",
        "Your weight decay is part of the gradient, but AdamW keeps it out of the running means.",
        "By what is the decay divided if it goes through the means, and by what should it be?",
        _adamw(gradient=_with_decay, decay=_left_out),
    ),
    _mistake(
        "adamw-decay-without-rate",
        "Your weight decay is as large as `weight_decay` says, but it should be multiplied by "
        "the learning rate.",
        "With a learning rate of 0, what should be left of a step?",
        _adamw(decay=_decay_without_rate),
    ),
    _mistake(
        "adamw-without-decay",
        "Your weights do not decay.",
        "How should a weight change whose gradient is 0?",
        _adamw(decay=_left_out),
    ),
    _mistake(
        "adamw-decay-without-gradient",
        "Your weight decay shrinks parameters that have no gradient, but they should stay as they "
        "are.",
        "Which parameters does `step` leave out, and is the decay behind that check?",
        lambda: _DecayOfAll,
    ),
    _mistake(
        "adamw-decay-away-from-zero",
        "Your weight decay makes the weights larger.",
        "Which sign has the decay of a positive weight, and which that of a negative one?",
        _adamw(decay=_growth),
    ),
    _mistake(
        "adamw-eps-in-root",
        "Your eps is added before the root is taken, but it belongs after the root.",
        "How large is the root of 1e-8, beside a gradient of 1e-6?",
        _adamw(divisor=_eps_in_root),
    ),
    _mistake(
        "adamw-root-missing",
        "Your mean gradient is divided by the mean square itself, and not by its root.",
        "If all gradients were ten times as large, how much larger should the step be?",
        _adamw(divisor=_no_root),
    ),
    _mistake(
        "adamw-betas-exchanged",
        "Your two betas are swapped.",
        "Which of the two means should have the longer memory?",
        _adamw(betas=_betas_exchanged),
    ),
    _mistake(
        "adamw-betas-inverted",
        "Your running means keep 1 - beta of the past, and take beta of the new gradient.",
        "With a beta of 0.9, how much of a mean should be left after one step?",
        _adamw(remember=_weights_exchanged),
    ),
    _mistake(
        "adamw-means-forgotten",
        "A running mean of yours knows the latest gradient only.",
        "Which values of a step are still there when the next one begins?",
        _adamw(remember=_forgetful),
        _adamw(remember=_mean_forgotten),
        _adamw(remember=_squares_forgotten),
    ),
    _mistake(
        "adamw-gradient-not-squared",
        "Your second running mean is one of the gradients, and not of their squares.",
        "Which operation makes the second mean positive, whatever the gradients are?",
        _adamw(remember=_unsquared(lambda gradient: gradient)),
        _adamw(remember=_unsquared(torch.abs)),
    ),
    _mistake(
        "adamw-rate-frozen",
        "Your steps always use the learning rate that the optimizer was made with, instead of the "
        "one that their group has now.",
        "Where does a schedule write the rate of the next step, and where does your step read it?",
        _adamw(rate=_first_rate),
    ),
    _mistake(
        "adamw-uphill",
        "Your steps go along the gradient, so that the loss grows.",
        "Which sign has the step, and which the gradient?",
        _adamw(gradient=_uphill),
    ),
)
