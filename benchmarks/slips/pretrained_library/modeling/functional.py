import torch


def softmax(hidden_states, dim=-1):
    maximum = hidden_states.amax(dim=dim, keepdim=True)
    exps = (hidden_states - maximum).exp()
    return exps / exps.sum(dim=dim, keepdim=True)


def make_causal_mask(query_length, key_length=None, device=None):
    key_length = query_length if key_length is None else key_length
    ones = torch.ones((query_length, key_length), dtype=torch.bool, device=device)
    return torch.tril(ones)


def get_extended_attention_mask(attention_mask, dtype):
    """1 for positions that are attended to, 0 for masked ones -> what is added to the scores."""
    extended_attention_mask = attention_mask.to(dtype=dtype)
    return (1.0 - extended_attention_mask) * torch.finfo(dtype).min


def attn_dropout(attn_weights, p, training):
    if not training or p == 0:
        return attn_weights.clone()
    noise = torch.rand_like(attn_weights)
    attn_weights = attn_weights.masked_fill(noise < p, 0.0)
    return attn_weights / (1.0 - p)


def eager_attention_forward(
    query, key, value, attention_mask=None, scaling=None, dropout=0.0, training=False
):
    attn_weights = torch.matmul(query, key.transpose(-1, -2))
    if scaling is not None:
        attn_weights = attn_weights * scaling
    if attention_mask is not None:
        attn_weights = attn_weights + attention_mask
    attn_weights = softmax(attn_weights, dim=-1)
    attn_weights = attn_dropout(attn_weights, dropout, training)
    attn_output = torch.matmul(attn_weights, value)
    return attn_output, attn_weights
