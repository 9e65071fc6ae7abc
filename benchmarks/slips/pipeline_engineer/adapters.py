"""Adapters: build the objects with the factories, call them, nothing else."""

from torch import Tensor

from attention_lib.accounting import ParameterCounter
from attention_lib.config import AttentionConfig, MaskPolicy, ProjectionWeights, RotaryConfig
from attention_lib.encoding import RotaryEncoder, SinusoidalTable
from attention_lib.engine import InvertedDropout
from attention_lib.factory import EngineFactory, LayerFactory
from attention_lib.masking import CausalMask
from attention_lib.scoring import Softmax


def run_softmax(in_features: Tensor, dim: int) -> Tensor:
    return Softmax(dim)(in_features)


def run_simple_self_attention(in_features: Tensor) -> Tensor:
    return LayerFactory.identity().forward_self(in_features)


def run_self_attention(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    layer = LayerFactory.single_head(W_query, W_key, W_value)
    return layer.forward_self(in_features)


def run_causal_mask(seq_len: int) -> Tensor:
    return CausalMask.build(seq_len)


def run_attention_weights(Q: Tensor, K: Tensor, mask: Tensor | None = None) -> Tensor:
    engine = EngineFactory.with_mask(mask)
    return engine.weights(Q, K)


def run_attention_dropout(weights: Tensor, p: float, training: bool) -> Tensor:
    dropout = InvertedDropout(rate=p, training=training)
    return dropout.apply(weights)


def run_scaled_dot_product_attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    sdpa_engine = EngineFactory.with_mask(mask)
    return sdpa_engine.attend(Q, K, V)


def run_causal_self_attention(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    causal_layer = LayerFactory.single_head(W_query, W_key, W_value, MaskPolicy.CAUSAL)
    return causal_layer.forward_self(in_features)


def run_multihead_attention_stacked(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    stacked_layer = LayerFactory.stacked(W_query, W_key, W_value)
    return stacked_layer.forward_self(in_features)


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    config = AttentionConfig(d_model, num_heads)
    weights = ProjectionWeights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    mha = LayerFactory.multi_head(config, weights)
    return mha.forward_self(in_features)


def run_multihead_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    is_causal: bool,
) -> Tensor:
    cross_config = AttentionConfig(d_model, num_heads, MaskPolicy.from_flag(is_causal))
    cross_weights = ProjectionWeights(
        query=q_proj_weight, key=k_proj_weight, value=v_proj_weight, output=o_proj_weight
    )
    cross_layer = LayerFactory.multi_head(cross_config, cross_weights)
    return cross_layer.forward(query, key, value)


def run_parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    return ParameterCounter(d_in, d_out).count(qkv_bias, out_bias)


def run_sinusoidal_positional_encoding(seq_len: int, d_model: int) -> Tensor:
    return SinusoidalTable(seq_len, d_model).build()


def run_rope(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Tensor,
    token_positions: Tensor,
) -> Tensor:
    encoder = RotaryEncoder(RotaryConfig(d_k, theta, max_seq_len))
    return encoder.encode(in_query_or_key, token_positions)


def run_multihead_self_attention_with_rope(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
    token_positions: Tensor | None = None,
) -> Tensor:
    rope_config = AttentionConfig(d_model, num_heads)
    rope_weights = ProjectionWeights(
        query=q_proj_weight,
        key=k_proj_weight,
        value=v_proj_weight,
        output=o_proj_weight,
    )
    rope_layer = LayerFactory.rotary_multi_head(rope_config, rope_weights, theta, max_seq_len)
    return rope_layer.forward_self(in_features, token_positions)
