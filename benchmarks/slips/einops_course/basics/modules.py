import torch
from einops import einsum, rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn

from basics.functional import causal_mask, scaled_dot_product_attention


class Linear(nn.Module):
    def __init__(self, d_in: int, d_out: int, device=None, dtype=None):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_out, d_in, device=device, dtype=dtype))
        std = (2 / (d_in + d_out)) ** 0.5
        nn.init.trunc_normal_(self.weight, std=std, a=-3 * std, b=3 * std)

    def forward(self, x: Float[Tensor, "... d_in"]) -> Float[Tensor, "... d_out"]:
        return einsum(x, self.weight, "... d_in, d_out d_in -> ... d_out")


class RotaryPositionalEmbedding(nn.Module):
    def __init__(self, theta: float, d_k: int, max_seq_len: int, device=None):
        super().__init__()
        self.register_buffer(
            "cache", self.build_cache(theta, d_k, max_seq_len, device), persistent=False
        )

    @staticmethod
    def build_cache(
        theta: float, d_k: int, max_seq_len: int, device=None
    ) -> Float[Tensor, "two positions pairs"]:
        dims = torch.arange(0, d_k, 2, device=device) / d_k
        freqs = 1.0 / theta**dims
        positions = torch.arange(max_seq_len, device=device)
        angles = einsum(positions.float(), freqs, "position, pair -> position pair")
        return torch.stack((torch.cos(angles), torch.sin(angles)))

    def forward(
        self, x: Float[Tensor, "... seq d_k"], positions: Int[Tensor, "... seq"]
    ) -> Float[Tensor, "... seq d_k"]:
        first, second = rearrange(x, "... (pair two) -> two ... pair", two=2)
        cos, sin = self.cache[:, positions].to(x.dtype)
        rotated_first = cos * first - sin * second
        rotated_second = sin * first + cos * second
        return rearrange([rotated_first, rotated_second], "two ... pair -> ... (pair two)")


class CausalMultiHeadSelfAttention(nn.Module):
    def __init__(
        self,
        d_model: int,
        num_heads: int,
        rope: RotaryPositionalEmbedding | None = None,
        device=None,
        dtype=None,
    ):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.rope = rope
        self.q_proj = Linear(d_model, d_model, device, dtype)
        self.k_proj = Linear(d_model, d_model, device, dtype)
        self.v_proj = Linear(d_model, d_model, device, dtype)
        self.output_proj = Linear(d_model, d_model, device, dtype)

    def forward(
        self, x: Float[Tensor, "... seq d_model"], token_positions: Int[Tensor, "... seq"] = None
    ) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        Q, K, V = (
            rearrange(project(x), "... seq (heads d) -> ... heads seq d", heads=self.num_heads)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )

        if self.rope is not None:
            if token_positions is None:
                token_positions = torch.arange(seq, device=x.device)
            token_positions = rearrange(token_positions, "... seq -> ... 1 seq")
            Q = self.rope(Q, token_positions)
            K = self.rope(K, token_positions)

        mask = causal_mask(seq, device=x.device)
        context = scaled_dot_product_attention(Q, K, V, mask)
        context = rearrange(context, "... heads seq d -> ... seq (heads d)")
        return self.output_proj(context)


class SinusoidalEncoding(nn.Module):
    def __init__(self, d_model: int, base: float = 10_000.0):
        super().__init__()
        pair = torch.arange(d_model // 2)
        self.register_buffer("freqs", base ** (-2 * pair / d_model))

    def forward(self, seq: int) -> Float[Tensor, "seq d_model"]:
        positions = torch.arange(seq, dtype=torch.float32)
        angles = einsum(positions, self.freqs, "seq, pair -> seq pair")
        return rearrange([angles.sin(), angles.cos()], "two seq pair -> seq (pair two)")
