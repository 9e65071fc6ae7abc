import torch

from decoder import Decoder, attend, softmax
from rotation import Rotation


def run_softmax(in_features, dim):
    return softmax(in_features, dim)


def run_causal_mask(seq_len):
    return torch.tensor([[key <= query for key in range(seq_len)] for query in range(seq_len)])


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attend(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    decoder = Decoder(W_query, W_key, W_value)
    return decoder.read(in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    said = []
    for w_query, w_key, w_value in zip(W_query, W_key, W_value):
        said.append(Decoder(w_query, w_key, w_value).read(in_features))
    return torch.cat(said, dim=-1)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    decoder = Decoder(q_proj_weight.T, k_proj_weight.T, v_proj_weight.T, heads=num_heads)
    return decoder.read(in_features) @ o_proj_weight.T


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
    decoder = Decoder(q_proj_weight.T, k_proj_weight.T, v_proj_weight.T, heads=num_heads)
    if is_causal:
        found = decoder.read_pairs(query, key, value)
    else:
        decoder.remember(key, value)
        found = decoder.ask(query)
    return found @ o_proj_weight.T


def run_sinusoidal_positional_encoding(seq_len, d_model):
    return Rotation(10000.0, d_model, seq_len).encoding()


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return Rotation(theta, d_k, max_seq_len).apply(in_query_or_key, token_positions)


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
    decoder = Decoder(
        q_proj_weight.T,
        k_proj_weight.T,
        v_proj_weight.T,
        heads=num_heads,
        rotation=Rotation(theta, d_model // num_heads, max_seq_len),
    )
    return decoder.read(in_features, token_positions) @ o_proj_weight.T
