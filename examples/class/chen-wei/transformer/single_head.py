from torch import Tensor, nn

from .functional import attention, causal_mask


class SelfAttention(nn.Module):
    """One head. With `context_length` it is causal and keeps its mask in a buffer."""

    def __init__(self, d_in: int, d_out: int, context_length: int | None = None, **factory):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False, **factory)
        self.W_key = nn.Linear(d_in, d_out, bias=False, **factory)
        self.W_value = nn.Linear(d_in, d_out, bias=False, **factory)
        mask = None
        if context_length is not None:
            mask = causal_mask(context_length, device=factory.get("device"))
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        seq = x.size(-2)
        mask = None if self.mask is None else self.mask[:seq, :seq]
        return attention(self.W_query(x), self.W_key(x), self.W_value(x), mask)
