"""Model answers on attention proper: one head, many heads, self- and cross-attention."""

from torch import Tensor

from .warmup import attention_weights, causal_mask


def scaled_dot_product_attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Give each query the average of the values, weighted by its attention to their keys."""
    weights = attention_weights(Q, K, mask)
    return weights @ V


def causal_self_attention(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    """Attend from every token to itself and to those before it."""
    queries = in_features @ W_query
    keys = in_features @ W_key
    values = in_features @ W_value
    return causal_attention(queries, keys, values)


def multihead_attention_stacked(
    W_query: Tensor, W_key: Tensor, W_value: Tensor, in_features: Tensor
) -> Tensor:
    """Run one causal head per slice of the weights and lay their outputs side by side."""
    shared = in_features.unsqueeze(-3)  # one axis of size 1, to be multiplied by every head
    queries = shared @ W_query
    keys = shared @ W_key
    values = shared @ W_value
    heads = causal_attention(queries, keys, values)
    return merge_heads(heads)


def multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    """Causal multi-head attention of a sequence to itself."""
    return multihead_attention(
        d_model,
        num_heads,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        o_proj_weight,
        query=in_features,
        key=in_features,
        value=in_features,
        is_causal=True,
    )


def multihead_attention(
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
    """Multi-head attention of one sequence to another, each head on its block of features."""
    d_head = d_model // num_heads
    queries = split_heads(query @ q_proj_weight.T, num_heads, d_head)
    keys = split_heads(key @ k_proj_weight.T, num_heads, d_head)
    values = split_heads(value @ v_proj_weight.T, num_heads, d_head)
    attend = causal_attention if is_causal else scaled_dot_product_attention
    heads = attend(queries, keys, values)
    merged = merge_heads(heads)
    return merged @ o_proj_weight.T


def parameter_count(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    """Count query, key and value projections (d_in to d_out) and the output's (d_out to d_out)."""
    projections = 3 * (d_in * d_out + d_out * qkv_bias)
    output = d_out * d_out + d_out * out_bias
    return projections + output


def causal_attention(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Scaled dot-product attention in which no token sees a later one."""
    mask = causal_mask(queries.shape[-2]).to(queries.device)
    return scaled_dot_product_attention(queries, keys, values, mask)


def split_heads(features: Tensor, num_heads: int, d_head: int) -> Tensor:
    """Cut `... seq (heads d_head)` into `... heads seq d_head`."""
    return features.unflatten(-1, (num_heads, d_head)).transpose(-3, -2)


def merge_heads(heads: Tensor) -> Tensor:
    """Undo `split_heads`: from `... heads seq d_head` to `... seq (heads d_head)`."""
    return heads.transpose(-3, -2).flatten(-2)
