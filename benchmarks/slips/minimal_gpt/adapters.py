import torch

from model import (
    CausalSelfAttention,
    CrossAttention,
    GPTConfig,
    Head,
    MultiHead,
    RotaryEmbedding,
    RotarySelfAttention,
    attention_weights,
    softmax,
)


def flatten_batch(x):
    """(..., T, C) -> (B, T, C), the modules want exactly one batch dim"""
    return x.reshape(-1, x.size(-2), x.size(-1))


@torch.no_grad()
def load_head(head, W_query, W_key, W_value):
    # nn.Linear keeps (out, in), these come as (in, out)
    head.query.weight.copy_(W_query.t())
    head.key.weight.copy_(W_key.t())
    head.value.weight.copy_(W_value.t())


def run_softmax(in_features, dim):
    return softmax(in_features, dim)


def run_causal_mask(seq_len):
    return torch.tril(torch.ones(seq_len, seq_len, dtype=torch.bool))


def run_attention_weights(Q, K, mask=None):
    return attention_weights(Q, K, mask)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention_weights(Q, K, mask) @ V


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    n_in, head_size = W_query.shape
    head = Head(n_in, head_size, block_size=in_features.size(-2)).to(in_features)
    load_head(head, W_query, W_key, W_value)
    return head(in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    num_heads, n_in, head_size = W_query.shape
    model = MultiHead(num_heads, n_in, head_size, in_features.size(-2)).to(in_features)
    for i, head in enumerate(model.heads):
        load_head(head, W_query[i], W_key[i], W_value[i])
    return model(in_features)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    config = GPTConfig(block_size=in_features.size(-2), n_head=num_heads, n_embd=d_model)
    attn = CausalSelfAttention(config).to(in_features)
    with torch.no_grad():
        attn.c_attn.weight.copy_(torch.cat([q_proj_weight, k_proj_weight, v_proj_weight], dim=0))
        attn.c_proj.weight.copy_(o_proj_weight)
    x = flatten_batch(in_features)
    return attn(x).view(in_features.shape)


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
    config = GPTConfig(n_head=num_heads, n_embd=d_model)
    attn = CrossAttention(config).to(query)
    with torch.no_grad():
        attn.c_q.weight.copy_(q_proj_weight)
        attn.c_k.weight.copy_(k_proj_weight)
        attn.c_v.weight.copy_(v_proj_weight)
        attn.c_proj.weight.copy_(o_proj_weight)
    y = attn(flatten_batch(query), flatten_batch(key), flatten_batch(value), is_causal=is_causal)
    return y.view(query.shape)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    rope = RotaryEmbedding(d_k, max_seq_len, base=theta).to(in_query_or_key)
    return rope(in_query_or_key, token_positions)


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
    config = GPTConfig(
        block_size=max_seq_len,
        n_head=num_heads,
        n_embd=d_model,
        rope_theta=theta,
    )
    model = RotarySelfAttention(config).to(in_features)
    state = {
        "c_attn.weight": torch.cat([q_proj_weight, k_proj_weight, v_proj_weight]),
        "c_proj.weight": o_proj_weight,
    }
    model.load_state_dict(state, strict=False)
    if token_positions is None:
        token_positions = torch.arange(in_features.size(-2), device=in_features.device)
    pos = token_positions.expand(in_features.shape[:-1])
    pos = pos.reshape(-1, in_features.size(-2))
    y = model(flatten_batch(in_features), pos)
    return y.view_as(in_features)
