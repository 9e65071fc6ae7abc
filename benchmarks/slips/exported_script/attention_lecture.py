#!/usr/bin/env python
# coding: utf-8

# # Self-attention from scratch
# My notes of the lecture, exported with nbconvert. The functions at the end are the ones handed in.

# In[1]:

import torch

torch.set_printoptions(precision=4, sci_mode=False)

# In[2]:

# a toy sentence: "Your journey starts with one step"
inputs = torch.tensor(
    [[0.43, 0.15, 0.89],
     [0.55, 0.87, 0.66],
     [0.57, 0.85, 0.64],
     [0.22, 0.58, 0.33],
     [0.77, 0.25, 0.10],
     [0.05, 0.80, 0.55]]
)
print("inputs:", inputs.shape)

# In[3]:

query = inputs[1]
attn_scores_2 = torch.empty(inputs.shape[0])
for i, x_i in enumerate(inputs):
    attn_scores_2[i] = torch.dot(x_i, query)
print(attn_scores_2)

# In[4]:

attn_weights_2_tmp = attn_scores_2 / attn_scores_2.sum()
print("Attention weights:", attn_weights_2_tmp)
print("Sum:", attn_weights_2_tmp.sum())

# In[5]:


def softmax_naive(x, dim):
    return torch.exp(x) / torch.exp(x).sum(dim=dim, keepdim=True)


def softmax(x, dim=-1):
    x_max = x.max(dim=dim, keepdim=True)[0]
    x_shifted = x - x_max
    x_exp = torch.exp(x_shifted)
    x_sum = x_exp.sum(dim=dim, keepdim=True)
    result = x_exp / x_sum
    return result


attn_weights_2 = softmax(attn_scores_2)
print("Attention weights:", attn_weights_2)
print("Difference to naive:", (attn_weights_2 - softmax_naive(attn_scores_2, 0)).abs().max())

# In[6]:


def simple_attention(x, verbose=False):
    attn_scores = x @ x.transpose(-2, -1)
    attn_weights = softmax(attn_scores, dim=-1)
    all_context_vecs = attn_weights @ x
    if verbose:
        print("scores", attn_scores.shape)
        print("row sums", attn_weights.sum(dim=-1))
    return all_context_vecs


print(simple_attention(inputs, verbose=True))

# ## With trainable weights

# In[7]:

torch.manual_seed(123)
d_in, d_out = 3, 2
W_query = torch.rand(d_in, d_out)
W_key = torch.rand(d_in, d_out)
W_value = torch.rand(d_in, d_out)

# In[8]:


def get_weights(queries, keys, mask=None):
    """Rows sum to one. mask: True where a query may look."""
    d_k = keys.shape[-1]
    keys_t = keys.transpose(-2, -1)
    attn_scores = queries @ keys_t
    scaled_scores = attn_scores / d_k**0.5
    if mask is None:
        masked_scores = scaled_scores
    else:
        forbidden = torch.logical_not(mask)
        masked_scores = scaled_scores.masked_fill(forbidden, -torch.inf)
    attn_weights = softmax(masked_scores, dim=-1)
    return attn_weights


def get_context(queries, keys, values, mask=None):
    attn_weights = get_weights(queries, keys, mask)
    context_vecs = attn_weights @ values
    return context_vecs


def self_attention(x, W_q, W_k, W_v, causal):
    queries = x @ W_q
    keys = x @ W_k
    values = x @ W_v
    mask = None
    if causal:
        context_length = x.shape[-2]
        mask = make_mask(context_length, x.device)
    context_vecs = get_context(queries, keys, values, mask)
    return context_vecs


# ## Hiding the future

# In[9]:


def make_mask(context_length, device=None):
    simple = torch.ones(context_length, context_length, device=device)
    future = torch.triu(simple, diagonal=1)
    mask = ~future.bool()
    return mask


print(make_mask(4))

# In[10]:


def dropout(attn_weights, p, training):
    if training:
        probs = torch.full_like(attn_weights, 1 - p)
        keep = torch.bernoulli(probs)
        scale = 1 / (1 - p)
        dropped = attn_weights * keep * scale
    else:
        dropped = attn_weights.clone()
    return dropped


print(dropout(torch.ones(6, 6), 0.5, True))

# ## More heads

# In[11]:


def stacked_heads(x, W_q, W_k, W_v):
    num_heads = W_q.shape[0]
    mask = make_mask(x.shape[-2], x.device)
    contexts = []
    for h in range(num_heads):
        q_h = x @ W_q[h]
        k_h = x @ W_k[h]
        v_h = x @ W_v[h]
        context_h = get_context(q_h, k_h, v_h, mask)
        contexts.append(context_h)
    out = torch.cat(contexts, dim=-1)
    return out


# In[12]:


def split_heads(t, num_heads):
    num_tokens, d_model = t.shape[-2:]
    head_dim = d_model // num_heads
    t_4d = t.view(*t.shape[:-1], num_heads, head_dim)
    t_heads = t_4d.transpose(-3, -2)
    return t_heads


def join_heads(t_heads):
    t_4d = t_heads.transpose(-3, -2)
    joined = t_4d.flatten(start_dim=-2)
    return joined


def multihead(query, key, value, weights, num_heads, causal, rotate=None):
    W_q, W_k, W_v, W_o = weights
    queries = query @ W_q.T
    keys = key @ W_k.T
    values = value @ W_v.T

    queries = split_heads(queries, num_heads)
    keys = split_heads(keys, num_heads)
    values = split_heads(values, num_heads)

    if rotate is not None:
        rotated_queries = rotate(queries)
        rotated_keys = rotate(keys)
    else:
        rotated_queries = queries
        rotated_keys = keys

    mask = None
    if causal:
        mask = make_mask(query.shape[-2], query.device)
    context_heads = get_context(rotated_queries, rotated_keys, values, mask)

    context = join_heads(context_heads)
    output = context @ W_o.T
    return output


# ## Where is a word?

# In[13]:


def angles_for(positions, dim, base):
    pair_index = torch.arange(dim // 2, device=positions.device)
    exponent = 2 * pair_index / dim
    inv_freq = 1 / base**exponent
    angles = positions[..., None] * inv_freq
    return angles


def sinusoidal(seq_len, d_model):
    positions = torch.arange(seq_len)
    angles = angles_for(positions, d_model, 10000)
    encoding = torch.zeros(seq_len, d_model)
    encoding[:, 0::2] = torch.sin(angles)
    encoding[:, 1::2] = torch.cos(angles)
    return encoding


# In[14]:


def rope(x, positions, theta):
    d_k = x.shape[-1]
    angles = angles_for(positions, d_k, theta)
    cos = torch.cos(angles).to(x.dtype)
    sin = torch.sin(angles).to(x.dtype)
    first = x[..., 0::2]
    second = x[..., 1::2]
    new_first = first * cos - second * sin
    new_second = first * sin + second * cos
    both = torch.stack([new_first, new_second], dim=-1)
    rotated = both.flatten(-2)
    return rotated


# In[15]:


def count_parameters(d_in, d_out, qkv_bias, out_bias):
    one_projection = d_in * d_out
    output_projection = d_out * d_out
    total = 3 * one_projection + output_projection
    if qkv_bias:
        total = total + 3 * d_out
    if out_bias:
        total = total + d_out
    return total


print(count_parameters(768, 768, False, True))
