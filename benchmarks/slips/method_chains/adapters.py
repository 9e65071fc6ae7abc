import torch


def run_softmax(in_features, dim):
    out = in_features.sub(in_features.amax(dim, keepdim=True)).exp()
    return out.div(out.sum(dim, keepdim=True))


def run_causal_mask(seq_len):
    steps = torch.arange(seq_len)
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
    mask.logical_or_(steps.view(-1, 1).ge(steps.view(1, -1)))
    return mask


def run_attention_weights(Q, K, mask=None):
    scores = Q.matmul(K.transpose(-2, -1)).mul_(Q.size(-1) ** -0.5)
    if mask is not None:
        scores.masked_fill_(mask.bitwise_not(), float("-inf"))
    return scores.softmax(-1)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return run_attention_weights(Q, K, mask).matmul(V)


def run_attention_dropout(weights, p, training):
    if not training:
        return weights
    keep = torch.empty_like(weights).bernoulli_(1 - p)
    return weights.mul(keep).div_(1 - p)


def run_self_attention(W_query, W_key, W_value, in_features):
    # one product for all three
    fused = in_features.matmul(torch.cat([W_query, W_key, W_value], dim=1))
    Q, K, V = fused.chunk(3, dim=-1)
    return run_scaled_dot_product_attention(Q, K, V)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    n_heads, _, d_head = W_query.shape
    seq = in_features.size(-2)
    mask = run_causal_mask(seq).to(in_features.device)
    out = in_features.new_empty(*in_features.shape[:-1], n_heads * d_head)
    for h in range(n_heads):
        Q, K, V = (in_features.matmul(W[h]) for W in (W_query, W_key, W_value))
        block = slice(h * d_head, (h + 1) * d_head)
        out[..., block] = run_scaled_dot_product_attention(Q, K, V, mask)
    return out


def run_sinusoidal_positional_encoding(seq_len, d_model):
    rate = torch.arange(0, d_model, 2).div(d_model).mul(-1).mul(torch.tensor(1e4).log()).exp()
    angle = torch.arange(seq_len).view(-1, 1).mul(rate)
    out = torch.empty(seq_len, d_model)
    out[:, 0::2] = angle.sin()
    out[:, 1::2] = angle.cos()
    return out


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    x = in_query_or_key
    rate = (
        torch.arange(0, d_k, 2, device=x.device)
        .div(d_k)
        .neg()
        .mul(torch.tensor(theta).log().item())
        .exp()
    )
    angle = torch.arange(max_seq_len, device=x.device).view(-1, 1).mul(rate)
    angle = angle[token_positions]
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)

    out = torch.empty_like(x)
    out[..., 0::2] = x[..., 0::2].mul(cos).sub_(x[..., 1::2].mul(sin))
    out[..., 1::2] = x[..., 0::2].mul(sin).add_(x[..., 1::2].mul(cos))
    return out


def _heads(x, weight, num_heads):
    y = x.matmul(weight.t())
    return y.reshape(*y.shape[:-1], num_heads, -1).transpose(-3, -2)


def _finish(q, k, v, mask, o_proj_weight):
    heads = run_scaled_dot_product_attention(q, k, v, mask)
    *lead, num_heads, seq, d_head = heads.shape
    out = heads.new_empty(*lead, seq, num_heads, d_head)
    out.copy_(heads.transpose(-3, -2))
    return out.flatten(start_dim=-2).matmul(o_proj_weight.t())


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    fused = in_features.matmul(torch.cat([q_proj_weight, k_proj_weight, v_proj_weight]).t())
    fused = fused.unflatten(-1, (3, num_heads, d_model // num_heads))
    q, k, v = fused.movedim(-3, 0).transpose(-3, -2).unbind(0)
    mask = run_causal_mask(in_features.size(-2)).to(in_features.device)
    return _finish(q, k, v, mask, o_proj_weight)


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
    mask = None
    if is_causal:
        mask = torch.ones(query.size(-2), key.size(-2), device=query.device).tril_().bool()
    q = _heads(query, q_proj_weight, num_heads)
    k = _heads(key, k_proj_weight, num_heads)
    v = _heads(value, v_proj_weight, num_heads)
    return _finish(q, k, v, mask, o_proj_weight)


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
    seq = in_features.size(-2)
    if token_positions is None:
        token_positions = torch.arange(seq, device=in_features.device)
    token_positions = token_positions.unsqueeze(-2)

    q = _heads(in_features, q_proj_weight, num_heads)
    k = _heads(in_features, k_proj_weight, num_heads)
    v = _heads(in_features, v_proj_weight, num_heads)
    d_head = d_model // num_heads
    q = run_rope(d_head, theta, max_seq_len, q, token_positions)
    k = run_rope(d_head, theta, max_seq_len, k, token_positions)

    mask = run_causal_mask(seq).to(in_features.device)
    return _finish(q, k, v, mask, o_proj_weight)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    shapes = [(d_out, d_in)] * 3 + [(d_out, d_out)]
    if qkv_bias:
        shapes += [(d_out,)] * 3
    if out_bias:
        shapes += [(d_out,)]
    return sum(torch.Size(shape).numel() for shape in shapes)
