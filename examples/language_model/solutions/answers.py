"""The answers to the adapters of the model, composed of given parts."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from . import attention, layers, loss, transformer
from .parts import Parts

Answer = Callable[..., Any]

COMPOSITIONS: dict[str, Answer] = {
    "run_linear": layers.linear,
    "run_embedding": layers.embedding,
    "run_silu": layers.silu,
    "run_swiglu": layers.swiglu,
    "run_rmsnorm": layers.rmsnorm,
    "run_softmax": layers.softmax,
    "run_scaled_dot_product_attention": attention.scaled_dot_product_attention,
    "run_multihead_self_attention": attention.multihead_self_attention,
    "run_rope": attention.rope,
    "run_multihead_self_attention_with_rope": attention.multihead_self_attention_with_rope,
    "run_transformer_block": transformer.transformer_block,
    "run_transformer_lm": transformer.transformer_lm,
    "run_cross_entropy": loss.cross_entropy,
}


def answer(exercise: str, parts: Parts) -> Answer:
    """Returns the answer to an exercise: a function with the parameters of its adapter."""
    return functools.partial(COMPOSITIONS[exercise], parts)


def named_steps(function: Answer, arguments: Mapping[str, Any]) -> dict[str, list[Tensor]]:
    """Returns the steps of an answer of the model, by name and in order, with their other forms.

    Each repetition of a step, as in each block, has a name of its own.
    """
    seen: dict[str, list[Tensor]] = {}

    def keep(name: str, step: Tensor, *forms: Tensor) -> Tensor:
        own, number = name, 1
        while (known := seen.setdefault(own, [step, *forms])[0]) is not step:
            if torch.equal(known, step):
                break
            number += 1
            own = f"{name} ({number})"
        return step

    if isinstance(function, functools.partial):
        (parts,) = function.args
        function.func(dataclasses.replace(parts, step=keep), **arguments)
    return seen
