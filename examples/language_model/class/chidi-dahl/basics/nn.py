"""Layers by the names of their axes."""

import math

import einops
import torch
from einops import einsum, rearrange, reduce
from jaxtyping import Float, Int
from torch import Tensor, nn


class Linear(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        sigma = (2 / (in_features + out_features)) ** 0.5
        self.W = nn.Parameter(
            nn.init.trunc_normal_(torch.empty(out_features, in_features), 0, sigma)
        )

    def forward(self, x: Float[Tensor, "... d_in"]) -> Float[Tensor, "... d_out"]:
        return einsum(x, self.W, "... d_in, d_out d_in -> ... d_out")


class Embedding(nn.Module):
    def __init__(self, num_embeddings: int, embedding_dim: int):
        super().__init__()
        self.table = nn.Parameter(torch.randn(num_embeddings, embedding_dim))

    def forward(self, ids: Int[Tensor, "..."]) -> Float[Tensor, "... d"]:
        return self.table[ids]


class RMSNorm(nn.Module):
    def __init__(self, d: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(d))

    def forward(self, x: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
        dtype, x = x.dtype, x.to(torch.float32)
        power = reduce(x * x, "... d -> ... 1", "mean")
        normed = x / (power + self.eps).sqrt()
        return einsum(normed, self.gain.float(), "... d, d -> ... d").to(dtype)


def sigmoid(x):
    return torch.sigmoid(x)


def silu(x):
    return x * sigmoid(x)


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.gate, self.up = Linear(d_model, d_ff), Linear(d_model, d_ff)
        self.down = Linear(d_ff, d_model)

    def forward(self, x):
        return self.down(silu(self.gate(x)) * self.up(x))


def softmax(x, dim):
    shifted = torch.exp(x - torch.amax(x, dim, keepdim=True))
    return shifted / torch.sum(shifted, dim, keepdim=True)


def dot_product_attention(Q, K, V, mask=None):
    scores = einsum(Q, K, "... q d, ... k d -> ... q k") / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill(mask.logical_not(), -math.inf)
    return einsum(softmax(scores, -1), V, "... q k, ... k d -> ... q d")


def rope(x, theta, positions):
    pairs = rearrange(x, "... (k two) -> ... k two", two=2)
    k = torch.arange(pairs.shape[-2], device=x.device)
    angle = einsum(positions, theta ** (-2 * k / x.shape[-1]), "... seq, k -> ... seq k")
    cos, sin = torch.cos(angle), torch.sin(angle)
    rows = torch.stack((torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)), -2)
    turned = einsum(rows, pairs, "... seq k i j, ... seq k j -> ... seq k i")
    return rearrange(turned, "... k two -> ... (k two)")


class Attention(nn.Module):
    def __init__(self, d_model: int, heads: int, theta: float | None = None):
        super().__init__()
        self.heads, self.theta = heads, theta
        self.qkv = nn.Parameter(torch.empty(3, d_model, d_model))
        self.out = Linear(d_model, d_model)

    def forward(self, x, positions=None):
        q, k, v = einops.rearrange(
            einsum(x, self.qkv, "... seq d_in, which d_out d_in -> which ... seq d_out"),
            "which ... seq (h d) -> which ... h seq d",
            h=self.heads,
        )
        order = torch.arange(x.shape[-2], device=x.device)
        if self.theta is not None:
            positions = rearrange(order if positions is None else positions, "... s -> ... 1 s")
            q, k = rope(q, self.theta, positions), rope(k, self.theta, positions)
        causal = rearrange(order, "q -> q 1") >= rearrange(order, "k -> 1 k")
        found = dot_product_attention(q, k, v, causal)
        return self.out(rearrange(found, "... h seq d -> ... seq (h d)"))

    def load(self, q, k, v, o):
        self.qkv.data = torch.stack((q, k, v))
        self.out.W.data = o
        return self


class Block(nn.Module):
    def __init__(self, d_model: int, heads: int, d_ff: int, theta: float):
        super().__init__()
        self.attention, self.feed = Attention(d_model, heads, theta), SwiGLU(d_model, d_ff)
        self.norms = nn.ModuleList((RMSNorm(d_model), RMSNorm(d_model)))

    def forward(self, x):
        after = x + self.attention(self.norms[0](x))
        return after + self.feed(self.norms[1](after))

    def load(self, weights, prefix=""):
        names = ("q_proj", "k_proj", "v_proj", "output_proj")
        self.attention.load(*(weights[f"{prefix}attn.{name}.weight"] for name in names))
        for layer, name in ((self.feed.gate, "w1"), (self.feed.down, "w2"), (self.feed.up, "w3")):
            layer.W.data = weights[f"{prefix}ffn.{name}.weight"]
        for number, norm in enumerate(self.norms, 1):
            norm.gain.data = weights[f"{prefix}ln{number}.weight"]
        return self


class LanguageModel(nn.Module):
    def __init__(self, vocab_size, d_model, layers, heads, d_ff, theta):
        super().__init__()
        self.embed = Embedding(vocab_size, d_model)
        self.blocks = nn.Sequential(*(Block(d_model, heads, d_ff, theta) for _ in range(layers)))
        self.norm, self.head = RMSNorm(d_model), Linear(d_model, vocab_size)

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.embed(ids))))

    def load(self, weights):
        self.embed.table.data = weights["token_embeddings.weight"]
        for number, block in enumerate(self.blocks):
            block.load(weights, f"layers.{number}.")
        self.norm.gain.data = weights["ln_final.weight"]
        self.head.W.data = weights["lm_head.weight"]
        return self


def cross_entropy(logits, targets):
    centred = logits - reduce(logits, "b v -> b 1", "max")
    log_probabilities = centred - reduce(centred.exp(), "b v -> b 1", "sum").log()
    picked = torch.gather(log_probabilities, 1, rearrange(targets, "b -> b 1"))
    return -reduce(picked, "b 1 -> ", "mean")
