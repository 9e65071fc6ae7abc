"""The contract: the functions that the grader calls, each with its types and conventions.

Every adapter hands over to `assignment/`, where your work goes. You may hand over to code of your
own instead, to a class or a whole package; keep the names and the parameters, for adapters are
called by keyword.

How to read the types: `Float[Tensor, "... seq d_model"]` is a tensor of floating-point numbers with
any number of leading axes (none, a batch, a batch and heads, ...), then an axis of length `seq` and
one of length `d_model`. Axes of the same name in one adapter have the same length. The types are
checked on every call, so a wrong shape is reported here, at the door, and not ten lines further in.

Conventions, unless a docstring says otherwise:

* Weights are those of layers without bias, as `torch.nn.Linear` keeps them: `y = x @ W.T`.
* A mask is boolean, `True` where attention is allowed. No query has every key masked.
* Positions and token ids are integers.
* Results have the dtype of the inputs and lie on their device. Gradients reach the inputs;
  weights may be copied. The inputs, a dict of weights among them, stay as they are.
* Where tensors come in, no Python loop goes over tokens or over the batch; one over heads or blocks
  is fine. Tests of *efficiency* count operations at two sizes.
"""

import os
from collections.abc import Iterable, Iterator
from typing import IO, Any, BinaryIO, Protocol

import numpy
import torch
from beartype import BeartypeConf, beartype
from jaxtyping import Bool, Float, Int, jaxtyped
from torch import Tensor

from assignment import (
    attention,
    checkpoint,
    data,
    layers,
    loss,
    optimizer,
    schedule,
    tokenizer,
    tokenizer_training,
    transformer,
)

# An int is welcome where a float is asked for: theta=10000 is as good as theta=10000.0.
typed = jaxtyped(typechecker=beartype(conf=BeartypeConf(is_pep484_tower=True)))

# --- Layers -------------------------------------------------------------------------------------


@typed
def run_linear(
    d_in: int,
    d_out: int,
    weights: Float[Tensor, "d_out d_in"],
    in_features: Float[Tensor, "... d_in"],
) -> Float[Tensor, "... d_out"]:
    """A linear layer without bias.

    d_in, d_out: the number of features that come in, and that go out.
    weights: `(d_out, d_in)`.
    in_features: `(..., d_in)`.
    Returns `(..., d_out)`.
    """
    return layers.linear(d_in, d_out, weights, in_features)


@typed
def run_embedding(
    vocab_size: int,
    d_model: int,
    weights: Float[Tensor, "vocab_size d_model"],
    token_ids: Int[Tensor, "..."],
) -> Float[Tensor, "... d_model"]:
    """The vector of each token.

    vocab_size: the number of tokens that there are; d_model: the features of each.
    weights: `(vocab_size, d_model)`, one row for each token.
    token_ids: any shape, each at least 0 and less than `vocab_size`.
    Returns the shape of `token_ids` with an axis of `d_model` behind it.
    """
    return layers.embedding(vocab_size, d_model, weights, token_ids)


@typed
def run_silu(in_features: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """The SiLU, number by number.

    in_features: any shape.
    Returns the shape of `in_features`.
    """
    return layers.silu(in_features)


@typed
def run_swiglu(
    d_model: int,
    d_ff: int,
    w1_weight: Float[Tensor, "d_ff d_model"],
    w2_weight: Float[Tensor, "d_model d_ff"],
    w3_weight: Float[Tensor, "d_ff d_model"],
    in_features: Float[Tensor, "... d_model"],
) -> Float[Tensor, "... d_model"]:
    """A feed-forward layer gated by a SiLU.

    d_model: features that come in and go out; d_ff: features in between.
    w1_weight: `(d_ff, d_model)`, of the projection that goes through the SiLU.
    w2_weight: `(d_model, d_ff)`, of the projection back.
    w3_weight: `(d_ff, d_model)`, of the projection that is gated.
    in_features: `(..., d_model)`.
    Returns `(..., d_model)`.
    """
    return layers.swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features)


@typed
def run_rmsnorm(
    d_model: int,
    eps: float,
    weights: Float[Tensor, "d_model"],
    in_features: Float[Tensor, "... d_model"],
) -> Float[Tensor, "... d_model"]:
    """Root mean square normalisation over the last axis.

    d_model: the number of features.
    eps: added to the mean of the squares.
    weights: `(d_model,)`, the gain of each feature.
    in_features: `(..., d_model)`; half-precision numbers are normalised in float32.
    Returns `(..., d_model)`, in the dtype of `in_features`.
    """
    return layers.rmsnorm(d_model, eps, weights, in_features)


@typed
def run_softmax(in_features: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Softmax along one axis.

    in_features: any shape with at least one axis.
    dim: the axis along which the results sum to 1; negative ones count from the last.
    Returns the shape of `in_features`.
    """
    return layers.softmax(in_features, dim)


# --- Attention ----------------------------------------------------------------------------------


@typed
def run_scaled_dot_product_attention(
    Q: Float[Tensor, "... queries d_k"],
    K: Float[Tensor, "... keys d_k"],
    V: Float[Tensor, "... keys d_v"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries d_v"]:
    """Scaled dot-product attention.

    Q: `(..., queries, d_k)`; K: `(..., keys, d_k)`; V: `(..., keys, d_v)`, one value per key.
    mask: boolean `(..., queries, keys)`, `True` where attention is allowed, or None for all.
    Returns `(..., queries, d_v)`.
    """
    return attention.scaled_dot_product_attention(Q, K, V, mask)


@typed
def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Float[Tensor, "d_model d_model"],
    k_proj_weight: Float[Tensor, "d_model d_model"],
    v_proj_weight: Float[Tensor, "d_model d_model"],
    o_proj_weight: Float[Tensor, "d_model d_model"],
    in_features: Float[Tensor, "... seq d_model"],
) -> Float[Tensor, "... seq d_model"]:
    """Causal multi-head self-attention, without positions.

    d_model: the number of features, a multiple of `num_heads`.
    q_proj_weight, k_proj_weight, v_proj_weight: rows `h * d_k` to `(h + 1) * d_k` belong to head h,
    where `d_k = d_model / num_heads`. o_proj_weight: of the output projection.
    in_features: `(..., seq, d_model)`.
    Returns `(..., seq, d_model)`.
    """
    return attention.multihead_self_attention(
        d_model,
        num_heads,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        o_proj_weight,
        in_features,
    )


@typed
def run_rope(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Float[Tensor, "... seq d_k"],
    token_positions: Int[Tensor, "... seq"],
) -> Float[Tensor, "... seq d_k"]:
    """Rotary position embedding of queries or keys.

    d_k: the number of features, even. The pairs (0, 1), (2, 3), ... are rotated.
    theta: the base of the frequencies.
    max_seq_len: every position is smaller than this.
    in_query_or_key: `(..., seq, d_k)`.
    token_positions: `(..., seq)`, the position of each vector; may have fewer leading axes.
    Returns `(..., seq, d_k)`.
    """
    return attention.rope(d_k, theta, max_seq_len, in_query_or_key, token_positions)


@typed
def run_multihead_self_attention_with_rope(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Float[Tensor, "d_model d_model"],
    k_proj_weight: Float[Tensor, "d_model d_model"],
    v_proj_weight: Float[Tensor, "d_model d_model"],
    o_proj_weight: Float[Tensor, "d_model d_model"],
    in_features: Float[Tensor, "... seq d_model"],
    token_positions: Int[Tensor, "... seq"] | None = None,
) -> Float[Tensor, "... seq d_model"]:
    """Causal multi-head self-attention with rotary position embedding.

    d_model, num_heads and the four weights: as in `run_multihead_self_attention`.
    max_seq_len, theta: as in `run_rope`, which acts on each head's `d_model / num_heads` features.
    in_features: `(..., seq, d_model)`.
    token_positions: `(..., seq)`, may have fewer leading axes; None stands for 0, 1, 2, ...
    What a token may see is a matter of the order in `in_features`, whatever the positions say.
    Returns `(..., seq, d_model)`.
    """
    return attention.multihead_self_attention_with_rope(
        d_model,
        num_heads,
        max_seq_len,
        theta,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        o_proj_weight,
        in_features,
        token_positions,
    )


# --- The model ----------------------------------------------------------------------------------


@typed
def run_transformer_block(
    d_model: int,
    num_heads: int,
    d_ff: int,
    max_seq_len: int,
    theta: float,
    weights: dict[str, Tensor],
    in_features: Float[Tensor, "batch seq d_model"],
) -> Float[Tensor, "batch seq d_model"]:
    """One pre-norm Transformer block: attention with RoPE, then SwiGLU, each with a residual.

    d_model, num_heads, d_ff, max_seq_len, theta: as in the adapters above.
    weights: by these names,
        `ln1.weight` `(d_model,)`, of the norm before attention;
        `attn.q_proj.weight`, `attn.k_proj.weight`, `attn.v_proj.weight`,
        `attn.output_proj.weight`, each `(d_model, d_model)`;
        `ln2.weight` `(d_model,)`, of the norm before the feed-forward layer;
        `ffn.w1.weight`, `ffn.w3.weight` `(d_ff, d_model)`, `ffn.w2.weight` `(d_model, d_ff)`.
    in_features: `(batch, seq, d_model)`, at positions 0, 1, 2, ...
    The norms' eps is 1e-5.
    Returns `(batch, seq, d_model)`.
    """
    return transformer.transformer_block(
        d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features
    )


@typed
def run_transformer_lm(
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    d_ff: int,
    rope_theta: float,
    weights: dict[str, Tensor],
    in_indices: Int[Tensor, "batch seq"],
) -> Float[Tensor, "batch seq vocab_size"]:
    """A Transformer language model: embedding, blocks, norm, and a head of its own weights.

    vocab_size: the number of tokens that there are.
    context_length: the most tokens that come at once; `seq` may be less.
    d_model, num_heads, d_ff, rope_theta: those of every block; num_layers: how many there are.
    weights: by these names,
        `token_embeddings.weight` `(vocab_size, d_model)`;
        for each block i = 0, 1, ..., `layers.{i}.` and the names of `run_transformer_block`;
        `ln_final.weight` `(d_model,)`, of the norm after the last block;
        `lm_head.weight` `(vocab_size, d_model)`.
    in_indices: token ids, `(batch, seq)`.
    Returns the unnormalised scores of each next token, `(batch, seq, vocab_size)`.
    """
    return transformer.transformer_lm(
        vocab_size,
        context_length,
        d_model,
        num_layers,
        num_heads,
        d_ff,
        rope_theta,
        weights,
        in_indices,
    )


@typed
def run_cross_entropy(
    inputs: Float[Tensor, "batch_size vocab_size"], targets: Int[Tensor, "batch_size"]
) -> Float[Tensor, ""]:
    """The mean cross-entropy of unnormalised scores.

    inputs: `(batch_size, vocab_size)`, the scores of every token for each example.
    targets: `(batch_size,)`, the token that each example should have given.
    Returns one number, the mean over the examples: a tensor without axes.
    """
    return loss.cross_entropy(inputs, targets)


# --- Training -----------------------------------------------------------------------------------


@typed
def run_get_lr_cosine_schedule(
    it: int,
    max_learning_rate: float,
    min_learning_rate: float,
    warmup_iters: int,
    cosine_cycle_iters: int,
) -> float:
    """The learning rate of one iteration: a linear warm-up, half a cosine down, then a floor.

    it: the iteration, from 0.
    max_learning_rate: reached at iteration `warmup_iters`.
    min_learning_rate: reached at iteration `cosine_cycle_iters`, and kept after it.
    Returns the rate.
    """
    return schedule.get_lr_cosine_schedule(
        it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters
    )


class Optimizer(Protocol):
    """What is asked of an optimizer: what `torch.optim.AdamW` does, by the same names."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
    ) -> None: ...
    def step(self) -> Any: ...
    def zero_grad(self) -> None: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...


def get_adamw_cls() -> type[Optimizer]:
    """The class of your AdamW, a `torch.optim.Optimizer`.

    Objects of it are made as those of `torch.optim.AdamW`: with `params`, and by keyword `lr`,
    `betas`, `eps` and `weight_decay`. Each group of parameters keeps its rate under `lr`, where a
    schedule writes another one.
    """
    return optimizer.AdamW


def run_gradient_clipping(parameters: Iterable[torch.nn.Parameter], max_l2_norm: float) -> None:
    """Gradients that are too large, all together, are made smaller by one factor, in place.

    parameters: whose `grad` is looked at; some may have none.
    max_l2_norm: the most that the norm of all gradients, taken as one vector, may be.
    """
    return optimizer.gradient_clipping(parameters, max_l2_norm)


@typed
def run_get_batch(
    dataset: numpy.ndarray, batch_size: int, context_length: int, device: str
) -> tuple[Int[Tensor, "batch_size context_length"], Int[Tensor, "batch_size context_length"]]:
    """A batch of windows that begin anywhere in a text, and of the tokens that follow each token.

    dataset: token ids, `(n,)`, integers of any width.
    batch_size: the number of windows; context_length: the tokens in each.
    device: where both results lie, as `"cpu"`.
    Returns the windows, and the same windows one token later: both `(batch_size, context_length)`,
    of int64 whatever the width of the integers in `dataset`.
    """
    return data.get_batch(dataset, batch_size, context_length, device)


def run_save_checkpoint(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    iteration: int,
    out: str | os.PathLike[str] | BinaryIO | IO[bytes],
) -> None:
    """Writes all that a training needs to go on: the model, the optimizer, the iteration.

    out: a path, or a binary file that is open for writing.
    """
    return checkpoint.save_checkpoint(model, optimizer, iteration, out)


def run_load_checkpoint(
    src: str | os.PathLike[str] | BinaryIO | IO[bytes],
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
) -> int:
    """Gives a model and an optimizer the states that `run_save_checkpoint` wrote.

    src: a path, or a binary file that is open for reading.
    Returns the iteration that was written.
    """
    return checkpoint.load_checkpoint(src, model, optimizer)


# --- Text ---------------------------------------------------------------------------------------


class Tokenizer(Protocol):
    """What is asked of a tokenizer."""

    def encode(self, text: str) -> list[int]: ...
    def encode_iterable(self, iterable: Iterable[str]) -> Iterator[int]: ...
    def decode(self, ids: list[int]) -> str: ...


def get_tokenizer(
    vocab: dict[int, bytes],
    merges: list[tuple[bytes, bytes]],
    special_tokens: list[str] | None = None,
) -> Tokenizer:
    """A byte-pair tokenizer.

    vocab: the bytes of each token, by its id.
    merges: the pairs that are merged, in the order in which they are.
    special_tokens: texts that are never split; one that is not in `vocab` gets the next free id.
    """
    return tokenizer.Tokenizer(vocab, merges, special_tokens)


def run_train_bpe(
    input_path: str | os.PathLike[str],
    vocab_size: int,
    special_tokens: list[str],
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Learns the vocabulary and the merges of a byte-pair tokenizer from a text.

    input_path: a file of text in UTF-8.
    vocab_size: the most tokens that the vocabulary may hold: the 256 bytes, the special tokens, and
    what is merged.
    special_tokens: texts at which the file is cut; nothing is learnt of them.
    Of pairs that are equally frequent the lexicographically greatest is merged, as Python compares
    tuples of bytes. Pairs are counted and merged within the words of GPT-2's pattern. A merge lets
    only the words that it changes be counted again: *efficiency* counts the lines that run.
    Returns the vocabulary, with ids 0, 1, 2, ... in any order, and the merges in the order in which
    they were learnt.
    """
    return tokenizer_training.train_bpe(input_path, vocab_size, special_tokens)
