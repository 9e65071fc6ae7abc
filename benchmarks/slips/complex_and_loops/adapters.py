import torch

from masks import apply_mask, make_causal_mask


# ---------- softmax and attention ----------


def my_softmax(x, dim):
    if x.numel() == 0:
        return x
    biggest = x.max(dim=dim, keepdim=True).values
    e = torch.exp(x - biggest)
    total = e.sum(dim=dim, keepdim=True)
    return e / total


def my_attention_weights(q, k, mask=None):
    if q.shape[-1] != k.shape[-1]:
        raise ValueError("queries and keys must have the same size")
    scale = q.shape[-1] ** -0.5
    scores = torch.matmul(q, k.transpose(-2, -1)) * scale
    scores = apply_mask(scores, mask)
    return my_softmax(scores, -1)


def my_attention(q, k, v, mask=None):
    w = my_attention_weights(q, k, mask)
    return torch.matmul(w, v)


# ---------- rope with complex numbers ----------


def rope_rotations(d, theta, positions):
    """e^(i * m * theta_k) for every position m and pair k"""
    if d % 2 != 0:
        raise ValueError("rope needs an even number of features")
    exponents = torch.arange(0, d, 2, device=positions.device).float() / d
    freqs = 1.0 / (theta**exponents)
    angles = positions.unsqueeze(-1).float() * freqs
    return torch.polar(torch.ones_like(angles), angles)


def apply_rope(x, rotations):
    pairs = x.float().reshape(*x.shape[:-1], -1, 2)
    x_complex = torch.view_as_complex(pairs.contiguous())
    x_rotated = x_complex * rotations
    out = torch.view_as_real(x_rotated).flatten(-2)
    return out.type_as(x)


# ---------- multi-head, one head after the other ----------


def head_rows(h, d_head):
    # rows of the projection matrices that belong to head h
    start = h * d_head
    end = start + d_head
    return slice(start, end)


def check_heads(d_model, num_heads):
    if num_heads < 1:
        raise ValueError("need at least one head")
    if d_model % num_heads != 0:
        raise ValueError("d_model must be divisible by num_heads")
    return d_model // num_heads


# ---------- adapters ----------


def run_softmax(in_features, dim):
    return my_softmax(in_features, dim)


def run_causal_mask(seq_len):
    if seq_len < 1:
        raise ValueError("seq_len must be positive")
    return make_causal_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return my_attention_weights(Q, K, mask)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    if K.shape[-2] != V.shape[-2]:
        raise ValueError("need one value per key")
    return my_attention(Q, K, V, mask)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    queries = in_features @ W_query
    keys = in_features @ W_key
    values = in_features @ W_value
    mask = make_causal_mask(in_features.shape[-2], in_features.device)
    return my_attention(queries, keys, values, mask)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    seq_len = in_features.shape[-2]
    mask = make_causal_mask(seq_len, in_features.device)
    outputs = []
    for h in range(W_query.shape[0]):
        q_h = in_features @ W_query[h]
        k_h = in_features @ W_key[h]
        v_h = in_features @ W_value[h]
        outputs.append(my_attention(q_h, k_h, v_h, mask))
    return torch.cat(outputs, dim=-1)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    d_head = check_heads(d_model, num_heads)
    x = in_features
    mask = make_causal_mask(x.shape[-2], x.device)

    heads = []
    for h in range(num_heads):
        r = head_rows(h, d_head)
        q = x @ q_proj_weight[r].T
        k = x @ k_proj_weight[r].T
        v = x @ v_proj_weight[r].T
        heads.append(my_attention(q, k, v, mask))

    merged = torch.cat(heads, dim=-1)
    return merged @ o_proj_weight.T


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
    d_head = check_heads(d_model, num_heads)
    if key.shape != value.shape:
        raise ValueError("need one value per key")
    mask = None
    if is_causal:
        if query.shape[-2] != key.shape[-2]:
            raise ValueError("causal attention needs as many keys as queries")
        mask = make_causal_mask(query.shape[-2], query.device)

    Q = query @ q_proj_weight.T
    K = key @ k_proj_weight.T
    V = value @ v_proj_weight.T
    contexts = []
    for h in range(num_heads):
        cols = head_rows(h, d_head)
        context = my_attention(Q[..., cols], K[..., cols], V[..., cols], mask)
        contexts.append(context)

    # (..., seq, heads, d_head) -> (..., seq, d_model)
    stacked = torch.stack(contexts, dim=-2)
    concat = stacked.flatten(-2)
    return concat @ o_proj_weight.T


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    if in_query_or_key.shape[-1] != d_k:
        raise ValueError("d_k does not fit the input")
    rotations = rope_rotations(d_k, theta, token_positions)
    return apply_rope(in_query_or_key, rotations)


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
    d_head = check_heads(d_model, num_heads)
    n_tokens = in_features.shape[-2]
    if n_tokens > max_seq_len:
        raise ValueError("sequence is too long")
    if token_positions is None:
        token_positions = torch.arange(n_tokens, device=in_features.device)

    rot = rope_rotations(d_head, theta, token_positions)
    mask = make_causal_mask(n_tokens, in_features.device)
    head_outputs = []
    for i in range(num_heads):
        rows = head_rows(i, d_head)
        q_i = apply_rope(in_features @ q_proj_weight[rows].T, rot)
        k_i = apply_rope(in_features @ k_proj_weight[rows].T, rot)
        v_i = in_features @ v_proj_weight[rows].T
        head_outputs.append(my_attention(q_i, k_i, v_i, mask))
    all_heads = torch.cat(head_outputs, dim=-1)
    return all_heads @ o_proj_weight.T
