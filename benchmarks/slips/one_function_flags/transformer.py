import torch


def softmax(x, dim=-1):
    top = x.max(dim=dim, keepdim=True)[0]
    x = (x - top).exp()
    return x / x.sum(dim=dim, keepdim=True)


def mask_for(kind, n, device):
    match kind:
        case "all":
            return None
        case "causal":
            return torch.tril(torch.ones(n, n, device=device)) == 1
        case torch.Tensor():
            return kind
    raise ValueError(f"no mask of the kind {kind}")


def positional(kind, length, dim, base=10000.0, x=None, positions=None):
    """The sinusoidal table ("add") or x turned ("rotate")."""
    device = None if x is None else x.device
    if positions is None:
        positions = torch.arange(length, device=device)
    powers = torch.arange(0, dim, 2, device=device) / dim
    angles = positions[..., None] * torch.exp(-powers * torch.log(torch.tensor(base)).item())

    if kind == "add":
        out = torch.empty(length, dim)
        out[:, 0::2] = angles.sin()
        out[:, 1::2] = angles.cos()
        return out

    sin, cos = angles.sin(), angles.cos()
    out = torch.empty_like(x)
    out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return out


def attention(q, k, v=None, mask=None, scaled=True):
    scores = q @ k.mT
    if scaled:
        scores = scores / q.shape[-1] ** 0.5
    if mask is None:
        weights = softmax(scores)
    else:
        hidden = torch.full_like(scores, float("-inf"))
        weights = softmax(torch.where(mask, scores, hidden))
    return weights if v is None else weights @ v


def qkv(x, memory, weights, layout):
    """Queries from x, keys and values from memory."""
    w_q, w_k, w_v = weights
    match layout:
        case "none":
            return x, x, x
        case "right":
            return x @ w_q, memory @ w_k, memory @ w_v
        case "linear":
            return x @ w_q.T, memory @ w_k.T, memory @ w_v.T
        case _:
            raise ValueError(layout)


def layer(
    x,
    weights=(None, None, None),
    w_o=None,
    *,
    heads=None,
    memory=None,
    values=None,
    mask="all",
    layout="linear",
    rope=None,
    positions=None,
):
    """Every kind of self- and cross-attention of the assignment."""
    if memory is None:
        memory = x
    q, k, v = qkv(x, memory, weights, layout)
    if values is not None:
        v = values @ weights[2].T
    mask = mask_for(mask, x.shape[-2], x.device)
    if layout == "none":
        return attention(q, k, v, mask, scaled=False)
    if heads is None:
        return attention(q, k, v, mask)

    width = q.shape[-1] // heads
    q, k, v = (t.unflatten(-1, (heads, width)).transpose(-3, -2) for t in (q, k, v))
    if rope is not None:
        if positions is not None:
            positions = positions[..., None, :]
        q = positional("rotate", q.shape[-2], width, rope, q, positions)
        k = positional("rotate", k.shape[-2], width, rope, k, positions)
    y = attention(q, k, v, mask).transpose(-3, -2).flatten(-2)
    if w_o is None:
        return y
    return y @ w_o.T
