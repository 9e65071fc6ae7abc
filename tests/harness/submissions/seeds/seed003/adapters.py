"""The causal mask has axes for batch and heads, which an unbatched input then gets too."""

import torch
from jaxtyping import Float
from torch import Tensor


def run_softmax(in_features, dim):
    exponentials = torch.exp(in_features - in_features.amax(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def run_scaled_dot_product_attention(
    Q: Float[Tensor, " ... queries d_k"],
    K: Float[Tensor, " ... keys d_k"],
    V: Float[Tensor, " ... keys d_v"],
    mask: Float[Tensor, " ... queries keys"] | None = None,
) -> Float[Tensor, " ... queries d_v"]:
    scores = Q @ K.transpose(-2, -1) / Q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0.0, float("-inf"))
    return run_softmax(scores, dim=-1) @ V


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    x = in_query_or_key
    pairs = torch.arange(0, d_k, 2, device=x.device)
    table = torch.arange(max_seq_len, device=x.device).unsqueeze(1) * theta ** (-pairs / d_k)
    angles = table[token_positions]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


def causal_multi_head(d_model, num_heads, q_proj, k_proj, v_proj, o_proj, x, rotate=None):
    *lead, length, _ = x.shape
    by_head = (*lead, length, num_heads, d_model // num_heads)
    q, k, v = (
        (x @ weight.T).reshape(by_head).transpose(-3, -2) for weight in (q_proj, k_proj, v_proj)
    )
    if rotate is not None:
        q, k = rotate(q), rotate(k)
    past = torch.ones(length, length, device=x.device).tril()
    context = run_scaled_dot_product_attention(q, k, v, past.view(1, 1, length, length))
    return context.transpose(-3, -2).flatten(-2) @ o_proj.T


def run_multihead_self_attention(
    d_model,
    num_heads,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
):
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return causal_multi_head(d_model, num_heads, *weights, in_features)


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
    positions = token_positions.unsqueeze(-2)

    def rotate(x):
        return run_rope(d_model // num_heads, theta, max_seq_len, x, positions)

    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return causal_multi_head(d_model, num_heads, *weights, in_features, rotate)
