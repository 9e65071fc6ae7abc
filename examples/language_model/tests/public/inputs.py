"""Inputs by the adapters' parameters, with weights of the size that keeps features as they were."""

import torch

THETA = 10_000.0


def away_from_zero(numbers, distance):
    """The same numbers, each farther from 0 by a distance."""
    return numbers + torch.where(numbers < 0, -distance, distance)


def linear(draw, d_in, d_out, **kwargs):
    """The sizes and the weights of a linear layer."""
    return {
        "d_in": d_in,
        "d_out": d_out,
        "weights": draw(d_out, d_in, scale=d_in**-0.5, **kwargs),
    }


def embedding(draw, vocab_size, d_model, *shape):
    """A vocabulary, and token ids of any shape."""
    return {
        "vocab_size": vocab_size,
        "d_model": d_model,
        "weights": draw(vocab_size, d_model),
        "token_ids": draw.integers(0, vocab_size, *shape),
    }


def swiglu(draw, d_model, d_ff):
    """The sizes and the weights of a feed-forward layer."""
    return {
        "d_model": d_model,
        "d_ff": d_ff,
        "w1_weight": draw(d_ff, d_model, scale=1.5 * d_model**-0.5),
        "w2_weight": draw(d_model, d_ff, scale=d_ff**-0.5),
        "w3_weight": draw(d_ff, d_model, scale=1.5 * d_model**-0.5),
    }


def rmsnorm(draw, *shape, eps=1e-6, scale=2.0, dtype=torch.float32):
    """Features of any shape, and a gain for each."""
    d_model = shape[-1]
    return {
        "d_model": d_model,
        "eps": eps,
        "weights": 1.0 + draw(d_model, scale=0.5, dtype=dtype),
        "in_features": draw(*shape, scale=scale, dtype=dtype),
    }


def multihead(draw, d_model, num_heads, **kwargs):
    """The sizes and the weights of multi-head attention."""
    names = ("q_proj_weight", "k_proj_weight", "v_proj_weight", "o_proj_weight")
    weights = {name: draw(d_model, d_model, scale=d_model**-0.5, **kwargs) for name in names}
    return {"d_model": d_model, "num_heads": num_heads} | weights


def multihead_with_rope(draw, d_model, num_heads, max_seq_len, theta=THETA):
    """The sizes and the weights of multi-head attention with RoPE."""
    sizes = {"max_seq_len": max_seq_len, "theta": theta}
    return sizes | multihead(draw, d_model, num_heads)


def block(draw, d_model, num_heads, d_ff, max_seq_len, theta=THETA):
    """The sizes and the weights of a Transformer block."""
    sizes = {"d_model": d_model, "num_heads": num_heads, "d_ff": d_ff}
    sizes |= {"max_seq_len": max_seq_len, "theta": theta}
    return sizes | {"weights": block_weights(draw, d_model, d_ff)}


def block_weights(draw, d_model, d_ff):
    """The weights of a Transformer block, by their names."""
    shapes = {
        "attn.q_proj": (d_model, d_model),
        "attn.k_proj": (d_model, d_model),
        "attn.v_proj": (d_model, d_model),
        "attn.output_proj": (d_model, d_model),
        "ffn.w1": (d_ff, d_model),
        "ffn.w2": (d_model, d_ff),
        "ffn.w3": (d_ff, d_model),
    }
    weights = {
        f"{name}.weight": draw(*shape, scale=shape[-1] ** -0.5) for name, shape in shapes.items()
    }
    return weights | {f"ln{n}.weight": 1.0 + draw(d_model, scale=0.3) for n in (1, 2)}


def language_model(
    draw,
    vocab_size=17,
    context_length=8,
    d_model=8,
    num_layers=2,
    num_heads=2,
    d_ff=12,
    rope_theta=THETA,
):
    """The sizes and the weights of a language model; its embeddings are large beside eps."""
    weights = {
        "token_embeddings.weight": away_from_zero(draw(vocab_size, d_model), 1.0),
        "ln_final.weight": 1.0 + draw(d_model, scale=0.3),
        "lm_head.weight": draw(vocab_size, d_model, scale=d_model**-0.5),
    }
    for number in range(num_layers):
        own = block_weights(draw, d_model, d_ff)
        weights |= {f"layers.{number}.{name}": weight for name, weight in own.items()}
    return {
        "vocab_size": vocab_size,
        "context_length": context_length,
        "d_model": d_model,
        "num_layers": num_layers,
        "num_heads": num_heads,
        "d_ff": d_ff,
        "rope_theta": rope_theta,
        "weights": weights,
    }


def rotation(draw, d_k, max_seq_len, *lead, theta=THETA):
    """The sizes of a rotation, and vectors at the positions 0, 1, 2, ..."""
    return {
        "d_k": d_k,
        "theta": theta,
        "max_seq_len": max_seq_len,
        "in_query_or_key": draw(*lead, max_seq_len, d_k),
        "token_positions": torch.arange(max_seq_len),
    }
