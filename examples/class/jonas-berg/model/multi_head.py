from torch import nn


class MultiHeadAttention(nn.Module):
    '''Written before scaled_dot_product.py, which is why it does its own softmax.'''

    def __init__(self, d_model, num_heads, is_causal, device=None, dtype=None):
        super().__init__()
        self.num_heads = num_heads
        self.is_causal = is_causal
        self.query = nn.Linear(d_model, d_model, bias=False, device=device, dtype=dtype)
        self.key = nn.Linear(d_model, d_model, bias=False, device=device, dtype=dtype)
        self.value = nn.Linear(d_model, d_model, bias=False, device=device, dtype=dtype)
        self.out = nn.Linear(d_model, d_model, bias=False, device=device, dtype=dtype)

    def split(self, x):
        return x.reshape(*x.shape[:-1], self.num_heads, -1).transpose(-3, -2)

    def forward(self, q, k, v, rotary=None):
        q = self.split(self.query(q))
        k = self.split(self.key(k))
        v = self.split(self.value(v))
        if rotary is not None:
            q = rotary(q)
            k = rotary(k)
        weights = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        heads = weights @ v
        return self.out(heads.transpose(-3, -2).reshape(*heads.shape[:-3], heads.size(-2), -1))
