"""Inputs that bring out a fault: scores of many thousands, and a token that changes."""

import torch


def sharp_multihead(d_model, num_heads):
    """Weights under which whole numbers give whole scores of many thousands."""
    one = torch.eye(d_model)
    weights = {f"{which}_proj_weight": one for which in "kvo"}
    return {"d_model": d_model, "num_heads": num_heads, "q_proj_weight": 1_000.0 * one} | weights


def change_from(position, x, change):
    """The tokens `x`, changed from a position on."""
    return torch.cat((x[:, :position], x[:, position:] + change[:, position:]), dim=1)
