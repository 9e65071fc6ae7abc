import torch

from rope import apply_rope


def soft_max(x, dim):
    m = torch.max(x, dim=dim, keepdim=True)[0]
    e = torch.exp(x - m)
    total = torch.sum(e, dim=dim, keepdim=True)
    return torch.div(e, total)


def build_mask(n):
    mask = []
    for i in range(n):
        mask.append([j <= i for j in range(n)])
    return torch.tensor(mask)


def attention_scores(Q, K, mask=None):
    scores = torch.matmul(Q, torch.transpose(K, -2, -1))
    scores = scores / K.size(-1) ** 0.5
    if mask is not None:
        hidden = torch.tensor(float("-inf"), dtype=scores.dtype)
        scores = torch.where(mask, scores, hidden)
    return scores


def attention_one_head(Q, K, V, mask=None):
    weights = soft_max(attention_scores(Q, K, mask), -1)
    return torch.matmul(weights, V)


def self_attention_no_weights(x):
    similarity = torch.matmul(x, torch.transpose(x, -2, -1))
    return torch.matmul(soft_max(similarity, -1), x)


def single_head(x, W_query, W_key, W_value, mask=None):
    Q = torch.matmul(x, W_query)
    K = torch.matmul(x, W_key)
    V = torch.matmul(x, W_value)
    return attention_one_head(Q, K, V, mask)


def multi_head_stacked(W_query, W_key, W_value, x):
    mask = build_mask(x.shape[-2])
    outputs = []
    for w_q, w_k, w_v in zip(W_query, W_key, W_value):
        outputs.append(single_head(x, w_q, w_k, w_v, mask))
    return torch.cat(outputs, dim=-1)


def project(x, weight, head, d_head):
    """Queries, keys or values of one head: its rows of the weight."""
    start = head * d_head
    end = start + d_head
    rows = weight[start:end]
    return torch.matmul(x, rows.T)


def causal_multi_head(num_heads, w_q, w_k, w_v, w_o, x):
    d_head = w_q.shape[0] // num_heads
    mask = build_mask(x.shape[-2])
    head_outputs = []
    for head in range(num_heads):
        Q = project(x, w_q, head, d_head)
        K = project(x, w_k, head, d_head)
        V = project(x, w_v, head, d_head)
        head_outputs.append(attention_one_head(Q, K, V, mask))
    concatenated = torch.cat(head_outputs, dim=-1)
    return torch.matmul(concatenated, w_o.T)


def causal_multi_head_rope(num_heads, theta, w_q, w_k, w_v, w_o, x, positions=None):
    d_head = w_q.shape[0] // num_heads
    n = x.shape[-2]
    if positions is None:
        positions = torch.arange(n)
    mask = build_mask(n)
    result = 0
    for head in range(num_heads):
        Q = apply_rope(project(x, w_q, head, d_head), positions, d_head, theta)
        K = apply_rope(project(x, w_k, head, d_head), positions, d_head, theta)
        V = project(x, w_v, head, d_head)
        context = attention_one_head(Q, K, V, mask)
        # each head meets its own columns of the output projection
        columns = w_o[:, head * d_head : (head + 1) * d_head]
        result = result + torch.matmul(context, columns.T)
    return result


def positional_encoding(seq_len, d_model):
    position = torch.arange(seq_len)
    columns = []
    for i in range(0, d_model, 2):
        angle = position / 10000 ** (i / d_model)
        columns.append(torch.sin(angle))
        columns.append(torch.cos(angle))
    return torch.stack(columns, dim=1)
