"""The answers to all adapters, composed of given parts."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from . import attention, positions, warmup
from .parts import Parts

Answer = Callable[..., Any]

_COMPOSITIONS: dict[str, Answer] = {
    "run_softmax": warmup.softmax,
    "run_simple_self_attention": warmup.simple_self_attention,
    "run_self_attention": warmup.self_attention,
    "run_causal_mask": warmup.causal_mask,
    "run_attention_weights": warmup.attention_weights,
    "run_attention_dropout": warmup.attention_dropout,
    "run_scaled_dot_product_attention": attention.scaled_dot_product_attention,
    "run_causal_self_attention": attention.causal_self_attention,
    "run_multihead_attention_stacked": attention.multihead_attention_stacked,
    "run_multihead_self_attention": attention.multihead_self_attention,
    "run_multihead_attention": attention.multihead_attention,
    "run_parameter_count": attention.parameter_count,
    "run_sinusoidal_positional_encoding": positions.sinusoidal_positional_encoding,
    "run_rope": positions.rope,
    "run_multihead_self_attention_with_rope": positions.multihead_self_attention_with_rope,
}

EXERCISES = tuple(_COMPOSITIONS)


def answer(exercise: str, parts: Parts) -> Answer:
    """Returns the answer to an exercise: a function with the parameters of its adapter."""
    return functools.partial(_COMPOSITIONS[exercise], parts)


def named_steps(function: Answer, arguments: Mapping[str, Any]) -> dict[str, list[Tensor]]:
    """Returns the steps of an answer, by name and in order; a step may have several forms.

    Numbers become tensors without axes.
    """
    seen: dict[str, list[Tensor]] = {}

    def keep(name: str, step: Any) -> Any:
        exact = step if isinstance(step, Tensor) else torch.tensor(step, dtype=torch.float64)
        seen.setdefault(name, []).append(exact)
        return step

    if isinstance(function, functools.partial):
        (parts,) = function.args
        function.func(dataclasses.replace(parts, step=keep), **arguments)
    return seen
