"""Several heads at once: an axis of its own, in front of the sequence."""

from layers.attention import Causal
from layers.projected import CausalProjected, Projected


class StackedHeads(CausalProjected):
    """One (d_in, d_head) matrix for each head."""

    def project(self, query, key, value):
        return super().project(query.unsqueeze(-3), key.unsqueeze(-3), value.unsqueeze(-3))

    def combine(self, context):
        return context.transpose(-3, -2).flatten(-2)


class MultiHead(Projected):
    """All heads in one matrix each, and an output matrix."""

    def __init__(self, num_heads, q_weight, k_weight, v_weight, o_weight):
        super().__init__(q_weight.T, k_weight.T, v_weight.T)
        self.num_heads = num_heads
        self.W_out = o_weight.T

    def split(self, x):
        *lead, seq, width = x.shape
        return x.reshape(*lead, seq, self.num_heads, width // self.num_heads).transpose(-3, -2)

    def project(self, query, key, value):
        q, k, v = super().project(query, key, value)
        return self.split(q), self.split(k), self.split(v)

    def combine(self, context):
        *lead, heads, seq, width = context.shape
        concatenated = context.transpose(-3, -2).reshape(*lead, seq, heads * width)
        return concatenated @ self.W_out


class CausalMultiHead(Causal, MultiHead):
    pass


class RotaryMultiHead(CausalMultiHead):
    def __init__(self, num_heads, q_weight, k_weight, v_weight, o_weight, rotary, positions):
        super().__init__(num_heads, q_weight, k_weight, v_weight, o_weight)
        self.rotary = rotary
        self.positions = positions.unsqueeze(-2)

    def place(self, q, k):
        q, k = super().place(q, k)
        return self.rotary(q, self.positions), self.rotary(k, self.positions)
