import torch

from assignment.warmup import attention_weights, causal_mask


def scaled_dot_product_attention(Q, K, V, mask=None):
    weights = attention_weights(Q, K, mask)
    output = torch.matmul(weights, V)
    return output


def causal_self_attention(W_query, W_key, W_value, in_features):
    number_of_tokens = in_features.size(-2)
    mask = causal_mask(number_of_tokens)
    queries = torch.matmul(in_features, W_query)
    keys = torch.matmul(in_features, W_key)
    values = torch.matmul(in_features, W_value)
    context_vectors = scaled_dot_product_attention(queries, keys, values, mask)
    return context_vectors


def apply_linear(inputs, weight):
    weight_transposed = torch.transpose(weight, 0, 1)
    outputs = torch.matmul(inputs, weight_transposed)
    return outputs


def divide_into_heads(tensor, num_heads):
    leading_shape = list(tensor.shape[:-1])
    d_model = tensor.size(-1)
    d_head = d_model // num_heads
    new_shape = leading_shape + [num_heads, d_head]
    divided = torch.reshape(tensor, new_shape)
    heads_before_tokens = torch.transpose(divided, -3, -2)
    return heads_before_tokens


def join_heads(tensor):
    tokens_before_heads = torch.transpose(tensor, -3, -2)
    leading_shape = list(tokens_before_heads.shape[:-2])
    num_heads = tokens_before_heads.size(-2)
    d_head = tokens_before_heads.size(-1)
    new_shape = leading_shape + [num_heads * d_head]
    joined = torch.reshape(tokens_before_heads, new_shape)
    return joined


def multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    # project
    all_queries = apply_linear(in_features, q_proj_weight)
    all_keys = apply_linear(in_features, k_proj_weight)
    all_values = apply_linear(in_features, v_proj_weight)
    # split
    queries = divide_into_heads(all_queries, num_heads)
    keys = divide_into_heads(all_keys, num_heads)
    values = divide_into_heads(all_values, num_heads)
    # attend
    number_of_tokens = in_features.size(-2)
    mask = causal_mask(number_of_tokens)
    attended = scaled_dot_product_attention(queries, keys, values, mask)
    # join
    joined = join_heads(attended)
    result = apply_linear(joined, o_proj_weight)
    return result


def parameter_count(d_in, d_out, qkv_bias, out_bias):
    weights_of_one_projection = d_in * d_out
    number_of_projections = 3
    count = number_of_projections * weights_of_one_projection
    if qkv_bias:
        count = count + number_of_projections * d_out
    weights_of_output = d_out * d_out
    count = count + weights_of_output
    if out_bias:
        count = count + d_out
    return count
