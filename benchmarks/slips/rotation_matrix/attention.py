import bias as biases
import torch
from rotation import rotate


def softmax(x, dim):
    x = x - torch.amax(x, dim=dim, keepdim=True)
    numerator = torch.exp(x)
    denominator = torch.sum(numerator, dim=dim, keepdim=True)
    return numerator / denominator


def shares(Q, K, bias):
    d_k = torch.tensor(K.shape[-1], dtype=Q.dtype, device=Q.device)
    scores = torch.matmul(Q, torch.transpose(K, -1, -2)) / torch.sqrt(d_k)
    return softmax(scores + bias, dim=-1)


def attention(Q, K, V, bias):
    A = shares(Q, K, bias)
    return torch.matmul(A, V)


def single_head(W_query, W_key, W_value, x, bias):
    return attention(
        torch.matmul(x, W_query), torch.matmul(x, W_key), torch.matmul(x, W_value), bias
    )


def flat(x):
    """One batch axis, however many there were: (batch, seq, d)."""
    return x.reshape(-1, x.shape[-2], x.shape[-1])


def split_heads(x, H):
    B, S, D = x.shape
    return x.reshape(B, S, H, D // H).permute(0, 2, 1, 3)


def join_heads(x):
    B, H, S, d = x.shape
    return x.permute(0, 2, 1, 3).reshape(B, S, H * d)


def multihead(H, weights, query, key, value, bias, theta=None, positions=None):
    W_q, W_k, W_v, W_o = (W.transpose(0, 1) for W in weights)
    Q = split_heads(torch.matmul(flat(query), W_q), H)
    K = split_heads(torch.matmul(flat(key), W_k), H)
    V = split_heads(torch.matmul(flat(value), W_v), H)
    if theta is not None:
        spread = positions.expand(query.shape[:-1]).reshape(-1, 1, query.shape[-2])
        Q = rotate(Q, spread, theta)
        K = rotate(K, spread, theta)
    joined = join_heads(attention(Q, K, V, bias))
    return torch.matmul(joined, W_o).reshape(query.shape)


def stacked(W_query, W_key, W_value, x):
    H, _, d = W_query.shape
    bias = biases.causal(x.shape[-2], x.dtype, x.device)
    heads = [single_head(W_query[h], W_key[h], W_value[h], x, bias) for h in range(H)]
    out = x.new_empty(*x.shape[:-1], H * d)
    for h, head in enumerate(heads):
        out[..., h * d : (h + 1) * d] = head
    return out
