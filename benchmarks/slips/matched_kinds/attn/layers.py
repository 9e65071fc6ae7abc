import torch

from .kernel import sdpa
from .waves import rotary


def positioned(q, k, place):
    """Queries and keys with what `place` asks for; an axis of heads stands before the tokens."""
    match place:
        case None:
            return q, k
        case ("rope", theta, None):
            counted = torch.arange(q.shape[-2], device=q.device)
            return rotary(q, counted, theta), rotary(k, counted, theta)
        case ("rope", theta, positions):
            shared = positions[..., None, :]
            return rotary(q, shared, theta), rotary(k, shared, theta)


def three(inputs):
    """Queries, keys and values come from three tensors, or all from one."""
    match inputs:
        case (query, key, value):
            return query, key, value
        case torch.Tensor():
            return inputs, inputs, inputs


def mha(heads, matrices, inputs, mask, place=None):
    query, key, value = three(inputs)
    by_head = {name: w.unflatten(0, (heads, -1)) for name, w in matrices.items() if name != "o"}
    q = torch.einsum("...nm,hdm->...hnd", query, by_head["q"])
    k = torch.einsum("...nm,hdm->...hnd", key, by_head["k"])
    v = torch.einsum("...nm,hdm->...hnd", value, by_head["v"])
    q, k = positioned(q, k, place)
    context = sdpa(q, k, v, mask)
    out = matrices["o"].unflatten(1, (heads, -1))
    return torch.einsum("...hnd,ohd->...no", context, out)


def count(d_in, d_out, qkv_bias, out_bias):
    total = 0
    for name in ("q", "k", "v", "o"):
        match name, qkv_bias, out_bias:
            case "o", _, has_bias:
                rows = d_out
            case _, has_bias, _:
                rows = d_in
        total += rows * d_out + (d_out if has_bias else 0)
    return total
