import torch
from torch import einsum


def softmax(x, dim):
    shift = x.max(dim, True).values.detach()
    p = (x - shift).exp()
    return p.div(p.sum(dim, True))


def causal(length, device=None):
    i = torch.arange(length, device=device)
    return i.view(-1, 1).ge(i.view(1, -1))


def attention_probabilities(Q, K, mask=None):
    scores = einsum("...qd,...kd->...qk", Q, K)
    scores = scores.mul(Q.shape[-1] ** -0.5)
    if mask is not None:
        scores = scores.where(mask, float("-inf"))
    return softmax(scores, -1)


def attend(Q, K, V, mask=None):
    return einsum("...qk,...kv->...qv", attention_probabilities(Q, K, mask), V)


def plain_attention(x):
    gram = einsum("...id,...jd->...ij", x, x)
    return einsum("...ij,...jd->...id", softmax(gram, -1), x)


def qkv_attention(x, W_q, W_k, W_v, mask=None):
    Q = einsum("...si,io->...so", x, W_q)
    K = einsum("...si,io->...so", x, W_k)
    V = einsum("...si,io->...so", x, W_v)
    return attend(Q, K, V, mask)


def heads_attention(Q, K, V):
    """Causal attention of (..., seq, heads, d_head): the heads stay behind the tokens."""
    scores = einsum("...qhd,...khd->...hqk", Q, K)
    scores = scores / Q.shape[-1] ** 0.5
    hidden = causal(Q.shape[-3], Q.device).logical_not()
    scores = scores.masked_fill(hidden, float("-inf"))
    probabilities = softmax(scores, -1)
    return einsum("...hqk,...khd->...qhd", probabilities, V)


def per_head_matrices(x, W_q, W_k, W_v):
    Q = einsum("...si,hio->...sho", x, W_q)
    K = einsum("...si,hio->...sho", x, W_k)
    V = einsum("...si,hio->...sho", x, W_v)
    return heads_attention(Q, K, V)


def head_rows(weight, num_heads):
    """(d_model, d_model) as (heads, d_head, d_model)."""
    return weight.reshape(num_heads, -1, weight.shape[-1])


def head_columns(weight, num_heads):
    """(d_model, d_model) as (d_model, heads, d_head)."""
    return weight.reshape(weight.shape[0], num_heads, -1)


def many_heads(x, num_heads, w_q, w_k, w_v, w_o):
    Q = einsum("...sm,hdm->...shd", x, head_rows(w_q, num_heads))
    K = einsum("...sm,hdm->...shd", x, head_rows(w_k, num_heads))
    V = einsum("...sm,hdm->...shd", x, head_rows(w_v, num_heads))
    context = heads_attention(Q, K, V)
    return einsum("...shd,mhd->...sm", context, head_columns(w_o, num_heads))


def many_heads_rotary(x, num_heads, w_q, w_k, w_v, w_o, theta, positions=None):
    if positions is None:
        positions = torch.arange(x.shape[-2], device=x.device)
    Q = einsum("...sm,hdm->...shd", x, head_rows(w_q, num_heads))
    K = einsum("...sm,hdm->...shd", x, head_rows(w_k, num_heads))
    V = einsum("...sm,hdm->...shd", x, head_rows(w_v, num_heads))
    every_head = positions.unsqueeze(-1)
    Q = rotary(Q, every_head, theta)
    K = rotary(K, every_head, theta)
    context = heads_attention(Q, K, V)
    return einsum("...shd,mhd->...sm", context, head_columns(w_o, num_heads))


def wavelengths(d, base, device=None):
    powers = torch.arange(0, d, 2, device=device).div(d)
    return torch.pow(base, powers)


def sines_and_cosines(length, d_model):
    steps = torch.arange(length, dtype=torch.float32)
    phase = einsum("s,f->sf", steps, wavelengths(d_model, 10000).reciprocal())
    encoding = torch.zeros(length, d_model // 2, 2)
    encoding[:, :, 0] = phase.sin()
    encoding[:, :, 1] = phase.cos()
    return encoding.view(length, d_model)


def rotary(x, positions, theta):
    turn = 1 / wavelengths(x.shape[-1], theta, x.device)
    phase = einsum("...s,f->...sf", positions.to(turn.dtype), turn)
    c, s = phase.cos(), phase.sin()
    matrices = torch.stack((torch.stack((c, -s), -1), torch.stack((s, c), -1)), -2)
    pairs = x.reshape(*x.shape[:-1], -1, 2)
    turned = einsum("...fij,...fj->...fi", matrices.to(x.dtype), pairs)
    return turned.reshape(x.shape)
