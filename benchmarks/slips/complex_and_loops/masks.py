# helpers for masks: True = may look, False = may not look

import torch


def make_causal_mask(n, device=None):
    idx = torch.arange(n, device=device)
    query_idx = idx.unsqueeze(1)
    key_idx = idx.unsqueeze(0)
    return key_idx <= query_idx


def apply_mask(scores, mask):
    if mask is None:
        return scores
    if mask.dtype != torch.bool:
        mask = mask.bool()
    scores = scores.masked_fill(mask == 0, float("-inf"))
    return scores
