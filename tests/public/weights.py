"""Weights of the size that keeps features as large as they were, by the adapters' parameters."""

import torch


def projections(draw, *shape, dtype=torch.float32):
    """Weights that multiply from the right: `d_in d_out`, after the number of heads if several."""
    names = ("W_query", "W_key", "W_value")
    return {name: draw(*shape, scale=shape[-2] ** -0.5, dtype=dtype) for name in names}


def multihead(draw, d_model, num_heads, dtype=torch.float32):
    """The weights and the sizes of multi-head attention."""
    names = ("q_proj_weight", "k_proj_weight", "v_proj_weight", "o_proj_weight")
    weights = {name: draw(d_model, d_model, scale=d_model**-0.5, dtype=dtype) for name in names}
    return {"d_model": d_model, "num_heads": num_heads} | weights
