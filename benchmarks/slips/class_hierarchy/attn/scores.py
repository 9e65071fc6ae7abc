import torch


class Softmax:
    def __init__(self, dim=-1):
        self.dim = dim

    def __call__(self, x):
        e = torch.exp(x - self.largest(x))
        return e / self.total(e)

    def largest(self, x):
        return torch.amax(x, self.dim, keepdim=True)

    def total(self, e):
        return torch.sum(e, self.dim, keepdim=True)


class Triangle:
    """The causal mask of `size` tokens."""

    def __init__(self, size, device=None):
        self.size = size
        self.device = device

    @property
    def allowed(self):
        return ~self.forbidden

    @property
    def forbidden(self):
        full = torch.full((self.size, self.size), True, device=self.device)
        return torch.triu(full, diagonal=1)


class Weights:
    """Attention weights of vectors of d_k features."""

    def __init__(self, d_k, scaled=True):
        self.scale = d_k**0.5 if scaled else 1.0
        self.softmax = Softmax()

    def __call__(self, q, k, mask=None):
        scores = self.scores(q, k)
        if mask is not None:
            scores = self.hide(scores, mask)
        return self.softmax(scores)

    def scores(self, q, k):
        return q @ torch.swapaxes(k, -1, -2) / self.scale

    @staticmethod
    def hide(scores, mask):
        penalty = torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
        return scores + penalty


class Dropout:
    def __init__(self, p):
        self.p = p
        self.training = False

    def train(self, mode=True):
        self.training = mode
        return self

    @property
    def gain(self):
        return 1.0 / (1.0 - self.p)

    def __call__(self, x):
        if self.training:
            noise = torch.rand(x.shape, device=x.device)
            x = torch.where(noise < self.p, 0.0, x * self.gain)
        return x
