# Homework: attention. I wrote what I can with loops (over heads, features, pairs) so that I
# understand what happens.
import math
import torch


def run_softmax(in_features, dim):
    biggest = torch.max(in_features, dim=dim, keepdim=True)[0]
    e = torch.exp(in_features - biggest)
    total = torch.sum(e, dim=dim, keepdim=True)
    return e / total


def run_causal_mask(seq_len):
    rows = []
    for i in range(seq_len):
        row = []
        for j in range(seq_len):
            if j <= i:
                row.append(True)
            else:
                row.append(False)
        rows.append(row)
    return torch.tensor(rows)


def project(x, W):
    # x @ W, one output feature after the other
    tokens = x.reshape(-1, x.shape[-1])
    columns = []
    for o in range(W.shape[1]):
        columns.append(torch.mv(tokens, W[:, o]))
    y = torch.stack(columns, dim=-1)
    return y.reshape(*x.shape[:-1], W.shape[1])


def dot_products(q, k):
    # scores[..., i, j] = q_i . k_j, summed up feature by feature
    scores = 0
    for f in range(q.shape[-1]):
        qf = q[..., f].unsqueeze(-1)
        kf = k[..., f].unsqueeze(-2)
        scores = scores + qf * kf
    return scores


def mix(weights, v):
    # every query gets the weighted sum of the values, one feature after the other
    shape = weights.shape[:-1] + v.shape[-1:]
    context = torch.zeros(shape).to(v)
    for f in range(v.shape[-1]):
        vf = v[..., f].unsqueeze(-2)
        context[..., f] = (weights * vf).sum(-1)
    return context


def run_simple_self_attention(in_features):
    scores = dot_products(in_features, in_features)
    weights = run_softmax(scores, -1)
    return mix(weights, in_features)


def run_attention_weights(Q, K, mask=None):
    scores = dot_products(Q, K)
    scores = scores / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)
    return run_softmax(scores, -1)


def run_attention_dropout(weights, p, training):
    out = weights.clone()
    if training:
        dice = torch.rand_like(weights)
        out[dice < p] = 0
        out = out / (1 - p)
    return out


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    weights = run_attention_weights(Q, K, mask)
    return mix(weights, V)


def three_projections(x, matrices):
    results = []
    for W in matrices:
        results.append(project(x, W))
    return results


def run_self_attention(W_query, W_key, W_value, in_features):
    q, k, v = three_projections(in_features, [W_query, W_key, W_value])
    return run_scaled_dot_product_attention(q, k, v)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    q, k, v = three_projections(in_features, [W_query, W_key, W_value])
    mask = run_causal_mask(in_features.shape[-2])
    return run_scaled_dot_product_attention(q, k, v, mask)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    heads = []
    for h in range(W_query.shape[0]):
        head = run_causal_self_attention(W_query[h], W_key[h], W_value[h], in_features)
        heads.append(head)
    return torch.cat(heads, dim=-1)


def attend_per_head(q, k, v, num_heads, mask=None):
    d_model = q.shape[-1]
    d_head = d_model // num_heads
    together = torch.zeros_like(q)
    for h in range(num_heads):
        start = h * d_head
        end = start + d_head
        q_h = q[..., start:end]
        k_h = k[..., start:end]
        v_h = v[..., start:end]
        together[..., start:end] = run_scaled_dot_product_attention(q_h, k_h, v_h, mask)
    return together


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    qkv = []
    for weight in [q_proj_weight, k_proj_weight, v_proj_weight]:
        qkv.append(project(in_features, weight.T))
    mask = run_causal_mask(in_features.shape[-2])
    together = attend_per_head(qkv[0], qkv[1], qkv[2], num_heads, mask)
    return project(together, o_proj_weight.T)


def run_multihead_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, query, key, value, is_causal
):
    inputs = [query, key, value]
    weights = [q_proj_weight, k_proj_weight, v_proj_weight]
    qkv = []
    for i in range(3):
        qkv.append(project(inputs[i], weights[i].T))
    mask = None
    if is_causal:
        mask = run_causal_mask(query.shape[-2])
    together = attend_per_head(*qkv, num_heads, mask)
    return project(together, o_proj_weight.T)


def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    count = 0
    for name in ["query", "key", "value"]:
        count += d_in * d_out
        if qkv_bias:
            count += d_out
    count += d_out * d_out
    if out_bias:
        count += d_out
    return count


def run_sinusoidal_positional_encoding(seq_len, d_model):
    table = []
    for pos in range(seq_len):
        row = [0.0] * d_model
        for i in range(0, d_model, 2):
            angle = pos / 10000 ** (i / d_model)
            row[i] = math.sin(angle)
            row[i + 1] = math.cos(angle)
        table.append(row)
    return torch.tensor(table)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    x = in_query_or_key
    out = torch.zeros_like(x)
    for k in range(d_k // 2):
        angle = token_positions * theta ** (-2 * k / d_k)
        c = torch.cos(angle)
        s = torch.sin(angle)
        a = x[..., 2 * k]
        b = x[..., 2 * k + 1]
        out[..., 2 * k] = a * c - b * s
        out[..., 2 * k + 1] = a * s + b * c
    return out


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    in_features, token_positions=None,
):
    seq_len = in_features.shape[-2]
    if token_positions is None:
        token_positions = torch.arange(seq_len)
    q = project(in_features, q_proj_weight.T)
    k = project(in_features, k_proj_weight.T)
    v = project(in_features, v_proj_weight.T)
    mask = run_causal_mask(seq_len)
    d_head = d_model // num_heads
    heads = []
    for h in range(num_heads):
        part = slice(h * d_head, (h + 1) * d_head)
        q_h = run_rope(d_head, theta, max_seq_len, q[..., part], token_positions)
        k_h = run_rope(d_head, theta, max_seq_len, k[..., part], token_positions)
        v_h = v[..., part]
        heads.append(run_scaled_dot_product_attention(q_h, k_h, v_h, mask))
    together = torch.cat(heads, dim=-1)
    return project(together, o_proj_weight.T)
