from functools import partial

import torch

from pipeline import chain
from steps import (
    ATTEND,
    compare,
    cool,
    hide,
    only_past,
    past_mask,
    see_all,
    share,
    softmax,
    thin,
    turn,
)
from recipes import multihead_chain, single_chain


def run_softmax(in_features, dim):
    return softmax(in_features, dim)


def run_self_attention(W_query, W_key, W_value, in_features):
    start = {"q": in_features, "k": in_features, "v": in_features}
    return single_chain(W_query, W_key, W_value, see_all)(start)["out"]


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    start = {"q": in_features, "k": in_features, "v": in_features}
    return single_chain(W_query, W_key, W_value, only_past)(start)["out"]


def run_causal_mask(seq_len):
    return past_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return chain(compare, cool, hide, share)({"q": Q, "k": K, "mask": mask})["weights"]


def run_attention_dropout(weights, p, training):
    steps = [partial(thin, p=p)] if training else []
    return chain(*steps)({"weights": weights})["weights"]


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return chain(*ATTEND)({"q": Q, "k": K, "v": V, "mask": mask})["out"]


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    start = {"q": in_features, "k": in_features, "v": in_features}
    chains = map(partial(single_chain, see=only_past), W_query, W_key, W_value)
    return torch.cat([run(start)["out"] for run in chains], dim=-1)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    weights = {"q": q_proj_weight, "k": k_proj_weight, "v": v_proj_weight, "out": o_proj_weight}
    run = multihead_chain(weights, num_heads, see=only_past)
    return run({"q": in_features, "k": in_features, "v": in_features})["out"]


def run_multihead_attention(
    d_model,
    num_heads,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    query,
    key,
    value,
    is_causal,
):
    weights = {"q": q_proj_weight, "k": k_proj_weight, "v": v_proj_weight, "out": o_proj_weight}
    run = multihead_chain(weights, num_heads, see=only_past if is_causal else see_all)
    return run({"q": query, "k": key, "v": value})["out"]


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    start = {"q": in_query_or_key, "positions": token_positions}
    return turn(start, "q", theta=theta)["q"]


def run_multihead_self_attention_with_rope(
    d_model,
    num_heads,
    max_seq_len,
    theta,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
    token_positions=None,
):
    if token_positions is None:
        token_positions = torch.arange(in_features.shape[-2], device=in_features.device)
    weights = {"q": q_proj_weight, "k": k_proj_weight, "v": v_proj_weight, "out": o_proj_weight}
    turns = [partial(turn, name=name, theta=theta) for name in ("q", "k")]
    run = multihead_chain(weights, num_heads, see=only_past, between=turns)
    start = {"q": in_features, "k": in_features, "v": in_features}
    return run({**start, "positions": token_positions.unsqueeze(-2)})["out"]
