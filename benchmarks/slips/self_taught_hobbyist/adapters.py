# attention from scratch! pieced together from a few blog posts and videos
# N = batch size, everything inside the classes is (N, seq_len, embed_size)
import torch
import torch.nn as nn


def my_softmax(x, dim):
    # subtract the biggest number, otherwise exp explodes
    biggest = torch.max(x, dim=dim, keepdim=True)[0]
    exps = torch.exp(x - biggest)
    return exps / torch.sum(exps, dim=dim, keepdim=True)


def make_trg_mask(trg_len):
    # lower triangle = what a token is allowed to look at
    return torch.tril(torch.ones(trg_len, trg_len)).bool()


def get_attention(query, keys, mask=None):
    energy = torch.einsum("...qd,...kd->...qk", query, keys)
    energy = energy / (query.shape[-1] ** (1 / 2))
    if mask is not None:
        energy = energy.masked_fill(mask == 0, float("-inf"))
    return my_softmax(energy, dim=-1)


# ---- rope, same trick as in llama: pairs of numbers become complex numbers ----


def precompute_freqs_cis(dim, end, theta):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2).float() / dim))
    t = torch.arange(end).float()
    freqs = torch.outer(t, freqs)
    return torch.polar(torch.ones_like(freqs), freqs)


def apply_rotary_emb(x, freqs_cis):
    pairs = x.float().reshape(*x.shape[:-1], -1, 2)
    x_complex = torch.view_as_complex(pairs)
    x_rotated = x_complex * freqs_cis
    x_out = torch.view_as_real(x_rotated).flatten(-2)
    return x_out.type_as(x)


# ---- one head ----


class SelfAttention(nn.Module):
    def __init__(self, W_query, W_key, W_value):
        super().__init__()
        d_in, d_out = W_query.shape
        self.d_out = d_out
        self.queries = nn.Linear(d_in, d_out, bias=False)
        self.keys = nn.Linear(d_in, d_out, bias=False)
        self.values = nn.Linear(d_in, d_out, bias=False)
        # nn.Linear keeps its weight as (out, in), ours come as (in, out)
        self.queries.weight = nn.Parameter(W_query.T)
        self.keys.weight = nn.Parameter(W_key.T)
        self.values.weight = nn.Parameter(W_value.T)

    def forward(self, x):
        queries = self.queries(x)
        keys = self.keys(x)
        values = self.values(x)
        trg_mask = make_trg_mask(x.shape[-2])
        attention = get_attention(queries, keys, trg_mask)
        return torch.einsum("...qk,...kd->...qd", attention, values)


# ---- many heads ----


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_size, heads, wq, wk, wv, wo, rope_theta=None, max_len=None):
        super().__init__()
        self.embed_size = embed_size
        self.heads = heads
        self.head_dim = embed_size // heads
        assert self.head_dim * heads == embed_size, "Embed size needs to be divisible by heads"

        self.queries = nn.Linear(embed_size, embed_size, bias=False)
        self.keys = nn.Linear(embed_size, embed_size, bias=False)
        self.values = nn.Linear(embed_size, embed_size, bias=False)
        self.fc_out = nn.Linear(embed_size, embed_size, bias=False)
        self.queries.weight = nn.Parameter(wq)
        self.keys.weight = nn.Parameter(wk)
        self.values.weight = nn.Parameter(wv)
        self.fc_out.weight = nn.Parameter(wo)

        self.freqs_cis = None
        if rope_theta is not None:
            self.freqs_cis = precompute_freqs_cis(self.head_dim, max_len, rope_theta)

    def forward(self, values, keys, query, mask=None, positions=None):
        out_shape = query.shape
        # squash all the batch axes into one
        query = query.reshape(-1, *query.shape[-2:])
        keys = keys.reshape(-1, *keys.shape[-2:])
        values = values.reshape(-1, *values.shape[-2:])
        N = query.shape[0]
        value_len, key_len, query_len = values.shape[1], keys.shape[1], query.shape[1]

        queries = self.queries(query)
        keys = self.keys(keys)
        values = self.values(values)

        # split the embedding into self.heads pieces
        queries = queries.reshape(N, query_len, self.heads, self.head_dim)
        keys = keys.reshape(N, key_len, self.heads, self.head_dim)
        values = values.reshape(N, value_len, self.heads, self.head_dim)

        if self.freqs_cis is not None:
            positions = positions.expand(out_shape[:-1]).reshape(N, query_len)
            cis = self.freqs_cis[positions]
            cis = cis.unsqueeze(2)  # same rotation for all heads
            queries = apply_rotary_emb(queries, cis)
            keys = apply_rotary_emb(keys, cis)

        # energy: (N, heads, query_len, key_len)
        energy = torch.einsum("nqhd,nkhd->nhqk", queries, keys)
        energy = energy / (self.head_dim ** (1 / 2))
        if mask is not None:
            energy = energy.masked_fill(mask == 0, float("-inf"))
        attention = my_softmax(energy, dim=3)

        out = torch.einsum("nhql,nlhd->nqhd", attention, values)
        out = out.reshape(N, query_len, self.heads * self.head_dim)
        out = self.fc_out(out)
        return out.reshape(out_shape)


# ---- what the tests call ----


def run_softmax(in_features, dim):
    return my_softmax(in_features, dim)


def run_causal_mask(seq_len):
    return make_trg_mask(seq_len)


def run_attention_weights(Q, K, mask=None):
    return get_attention(Q, K, mask)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    attn = get_attention(Q, K, mask)
    return torch.einsum("...ql,...ld->...qd", attn, V)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    head = SelfAttention(W_query, W_key, W_value)
    return head(in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    outs = []
    for wq, wk, wv in zip(W_query, W_key, W_value):
        one_head = SelfAttention(wq, wk, wv)
        outs.append(one_head(in_features))
    return torch.cat(outs, dim=-1)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    mha = MultiHeadAttention(
        d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    )
    trg_mask = make_trg_mask(in_features.shape[-2])
    return mha(in_features, in_features, in_features, trg_mask)


def run_multihead_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    query, key, value, is_causal,
):
    cross = MultiHeadAttention(
        d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    )
    causal_mask = make_trg_mask(query.shape[-2]) if is_causal else None
    return cross(value, key, query, mask=causal_mask)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    freqs_cis = precompute_freqs_cis(d_k, max_seq_len, theta)
    return apply_rotary_emb(in_query_or_key, freqs_cis[token_positions])


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta,
    q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    in_features, token_positions=None,
):
    seq_len = in_features.shape[-2]
    if token_positions is None:
        token_positions = torch.arange(seq_len)
    rope_mha = MultiHeadAttention(
        d_model,
        num_heads,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        o_proj_weight,
        rope_theta=theta,
        max_len=max_seq_len,
    )
    mask = make_trg_mask(seq_len)
    return rope_mha(in_features, in_features, in_features, mask, token_positions)
