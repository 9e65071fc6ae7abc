import torch

from table import operation, perform

DEFAULTS = {"mask": "all", "positions": None, "theta": 10000.0}


@operation("softmax")
def softmax(x, dim):
    largest = x.max(dim=dim, keepdim=True)[0].detach()
    weights = (x - largest).exp()
    return weights.div(weights.sum(dim=dim, keepdim=True))


@operation("mask/all")
def mask_all(n, device=None):
    return torch.ones((n, 1), dtype=torch.bool, device=device)


@operation("mask/past")
def mask_past(n, device=None):
    later = torch.ones((n, n), device=device).triu(diagonal=1)
    return later == 0


@operation("scores")
def scores(q, k):
    width = q.shape[-1]
    return k.matmul(q.transpose(-2, -1)).transpose(-2, -1) / width**0.5


@operation("weights")
def weights(q, k, mask=None):
    s = perform("scores", q, k)
    if mask is not None:
        s = torch.where(mask, s, torch.tensor(float("-inf"), dtype=s.dtype, device=s.device))
    return perform("softmax", s, dim=-1)


@operation("attention")
def attention(q, k, v, mask=None):
    return perform("weights", q, k, mask=mask).matmul(v)


@operation("project")
def project(x, matrices):
    return tuple(x.matmul(matrix) for matrix in matrices)


@operation("position/default")
def default_positions(x):
    return torch.arange(x.shape[-2], device=x.device)


@operation("position/turn")
def turn(x, positions, theta):
    feature = torch.arange(x.shape[-1], device=x.device)
    pair = feature // 2
    speed = theta ** (-2 * pair.double() / x.shape[-1])
    angle = positions[..., None] * speed
    is_first = feature % 2 == 0
    partner = torch.where(is_first, -x.roll(-1, dims=-1), x.roll(1, dims=-1))
    return x * angle.cos().to(x.dtype) + partner * angle.sin().to(x.dtype)


@operation("heads/split")
def split(x, heads):
    return torch.stack(x.tensor_split(heads, dim=-1)).movedim(0, -3)


@operation("heads/join")
def join(x):
    return torch.cat(tuple(x.movedim(-3, 0)), dim=-1)


@operation("heads/own")
def heads_own(x, matrices):
    mask = perform("mask/past", x.shape[-2], x.device)
    spoken = []
    for w_query, w_key, w_value in zip(*matrices, strict=True):
        q, k, v = perform("project", x, (w_query, w_key, w_value))
        spoken.append(perform("attention", q, k, v, mask=mask))
    return torch.cat(spoken, dim=-1)


@operation("heads/shared")
def heads_shared(inputs, matrices, w_output, options):
    options = DEFAULTS | options
    q, k, v = (
        perform("heads/split", x.matmul(matrix.T), options["heads"])
        for x, matrix in zip(inputs, matrices, strict=True)
    )
    if options["positions"] is not None:
        positions = options["positions"].unsqueeze(-2)
        q = perform("position/turn", q, positions, options["theta"])
        k = perform("position/turn", k, positions, options["theta"])
    mask = perform("mask/" + options["mask"], q.shape[-2], q.device)
    context = perform("attention", q, k, v, mask=mask)
    return perform("heads/join", context).matmul(w_output.T)


@operation("count")
def count(sizes, biases):
    layers = {"q": ("in", "qkv"), "k": ("in", "qkv"), "v": ("in", "qkv"), "o": ("out", "out")}
    total = 0
    for source, bias in layers.values():
        total += (sizes[source] + int(biases[bias])) * sizes["out"]
    return total
