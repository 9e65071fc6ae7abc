# %% [markdown]
# # Attention from scratch
# My solution, cell by cell. Shapes are in the comments: b = any leading axes, t = tokens.

# %%
import torch
import torch.nn as nn
import torch.nn.functional as F

# %% [markdown]
# ## Warm-up


# %%
def run_softmax(in_features, dim):
    return F.softmax(in_features, dim=dim)


def run_simple_self_attention(in_features):
    attn_scores = in_features @ in_features.transpose(-1, -2)
    attn_weights = F.softmax(attn_scores, dim=-1)
    context = attn_weights @ in_features
    return context


def run_causal_mask(seq_len):
    idx = torch.arange(seq_len)
    return idx.view(-1, 1) >= idx.view(1, -1)


# %%
def run_attention_weights(Q, K, mask=None):
    dk = Q.shape[-1]
    attn_scores = Q @ K.transpose(-1, -2)  # (b, queries, keys)
    attn_scores = attn_scores * dk**-0.5
    if mask is not None:
        attn_scores = torch.where(mask, attn_scores, float("-inf"))
    return F.softmax(attn_scores, dim=-1)


def run_attention_dropout(weights, p, training):
    return F.dropout(weights, p=p, training=training)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    attn_weights = run_attention_weights(Q, K, mask)
    return attn_weights @ V


# %% [markdown]
# ## One head


# %%
class Head(nn.Module):
    """One head with weights that multiply from the right."""

    def __init__(self, d_in, d_out, causal):
        super().__init__()
        self.query = nn.Linear(d_in, d_out, bias=False)
        self.key = nn.Linear(d_in, d_out, bias=False)
        self.value = nn.Linear(d_in, d_out, bias=False)
        self.causal = causal

    def load(self, wq, wk, wv):
        self.query.weight.data = wq.T
        self.key.weight.data = wk.T
        self.value.weight.data = wv.T
        return self

    def forward(self, x):
        q = self.query(x)
        k = self.key(x)
        v = self.value(x)
        mask = None
        if self.causal:
            mask = run_causal_mask(x.shape[-2]).to(x.device)
        return run_scaled_dot_product_attention(q, k, v, mask)


def run_self_attention(W_query, W_key, W_value, in_features):
    head = Head(*W_query.shape, causal=False).load(W_query, W_key, W_value)
    return head(in_features)


def run_causal_self_attention(W_query, W_key, W_value, in_features):
    head = Head(*W_query.shape, causal=True).load(W_query, W_key, W_value)
    return head(in_features)


def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    outs = []
    for wq, wk, wv in zip(W_query, W_key, W_value):
        head = Head(*wq.shape, causal=True).load(wq, wk, wv)
        outs.append(head(in_features))
    return torch.cat(outs, dim=-1)


# %% [markdown]
# ## Positions


# %%
def run_sinusoidal_positional_encoding(seq_len, d_model):
    pos = torch.arange(seq_len).float().view(-1, 1)
    i = torch.arange(d_model)
    angle = pos / 10000 ** (2 * (i // 2) / d_model)
    return torch.where(i % 2 == 0, angle.sin(), angle.cos())


def rope_table(d_k, theta, positions):
    freqs = theta ** (-torch.arange(0, d_k, 2, device=positions.device) / d_k)
    angles = positions.unsqueeze(-1).float() * freqs  # (b, t, d_k / 2)
    return torch.cos(angles), torch.sin(angles)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    cos, sin = rope_table(d_k, theta, token_positions)
    even = in_query_or_key[..., 0::2]
    odd = in_query_or_key[..., 1::2]
    out = torch.empty(in_query_or_key.shape, dtype=cos.dtype, device=cos.device)
    out[..., 0::2] = even * cos - odd * sin
    out[..., 1::2] = even * sin + odd * cos
    return out.to(in_query_or_key.dtype)


# %% [markdown]
# ## Many heads


# %%
class MHA(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head = n_head
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, d_model, bias=False)
        self.wv = nn.Linear(d_model, d_model, bias=False)
        self.wo = nn.Linear(d_model, d_model, bias=False)

    def load(self, q, k, v, o):
        self.wq.weight.data = q
        self.wk.weight.data = k
        self.wv.weight.data = v
        self.wo.weight.data = o
        return self

    def heads(self, x):
        # (b, t, d_model) -> (b, n_head, t, d_head)
        *b, t, d = x.shape
        return x.view(*b, t, self.n_head, d // self.n_head).transpose(-2, -3)

    def forward(self, query, key, value, causal, rotate=None):
        q = self.heads(self.wq(query))
        k = self.heads(self.wk(key))
        v = self.heads(self.wv(value))
        if rotate is not None:
            q = rotate(q)
            k = rotate(k)
        mask = run_causal_mask(q.shape[-2]).to(q.device) if causal else None
        out = run_scaled_dot_product_attention(q, k, v, mask)
        out = out.transpose(-2, -3).flatten(-2)
        return self.wo(out)


# %%
def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    mha = MHA(d_model, num_heads).load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mha(in_features, in_features, in_features, causal=True)


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
    mha = MHA(d_model, num_heads).load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return mha(query, key, value, causal=is_causal)


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
    mha = MHA(d_model, num_heads).load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    if token_positions is None:
        token_positions = torch.arange(in_features.shape[-2], device=in_features.device)
    positions = token_positions.unsqueeze(-2)

    def rotate(t):
        return run_rope(d_model // num_heads, theta, max_seq_len, t, positions)

    return mha(in_features, in_features, in_features, causal=True, rotate=rotate)


# %%
def run_parameter_count(d_in, d_out, qkv_bias, out_bias):
    n_qkv = 3 * d_in * d_out + (3 * d_out if qkv_bias else 0)
    n_out = d_out * d_out + (d_out if out_bias else 0)
    return n_qkv + n_out


# %%
run_parameter_count(768, 768, False, True)
