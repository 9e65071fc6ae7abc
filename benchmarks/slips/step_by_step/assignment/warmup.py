import torch


def subtract_maximum(numbers, dim):
    maximum = torch.amax(numbers, dim=dim, keepdim=True)
    difference = numbers - maximum
    return difference


def softmax(in_features, dim):
    # step 1: make it safe
    safe_numbers = subtract_maximum(in_features, dim)
    # step 2: exponentials
    exponentials = torch.exp(safe_numbers)
    # step 3: divide by their sum
    sum_of_exponentials = torch.sum(exponentials, dim=dim, keepdim=True)
    probabilities = exponentials / sum_of_exponentials
    return probabilities


def compute_scores(queries, keys):
    keys_transposed = torch.transpose(keys, -2, -1)
    scores = torch.matmul(queries, keys_transposed)
    return scores


def scale_scores(scores, d_k):
    square_root = torch.sqrt(torch.tensor(float(d_k)))
    scaled_scores = scores / square_root
    return scaled_scores.to(scores.dtype)


def hide_masked(scores, mask):
    not_allowed = torch.logical_not(mask)
    minus_infinity = float("-inf")
    hidden_scores = scores.masked_fill(not_allowed, minus_infinity)
    return hidden_scores


def simple_self_attention(in_features):
    attention_scores = compute_scores(in_features, in_features)
    weights = softmax(attention_scores, dim=-1)
    context_vectors = torch.matmul(weights, in_features)
    return context_vectors


def self_attention(W_query, W_key, W_value, in_features):
    queries = torch.matmul(in_features, W_query)
    keys = torch.matmul(in_features, W_key)
    values = torch.matmul(in_features, W_value)
    weights = attention_weights(queries, keys)
    context_vectors = torch.matmul(weights, values)
    return context_vectors


def causal_mask(seq_len):
    all_true = torch.ones((seq_len, seq_len), dtype=torch.bool)
    future = torch.triu(all_true, diagonal=1)
    allowed = torch.logical_not(future)
    return allowed


def attention_weights(Q, K, mask=None):
    d_k = Q.size(-1)
    raw_scores = compute_scores(Q, K)
    scaled_scores = scale_scores(raw_scores, d_k)
    if mask is not None:
        final_scores = hide_masked(scaled_scores, mask)
    else:
        final_scores = scaled_scores
    weights = softmax(final_scores, dim=-1)
    return weights


def attention_dropout(weights, p, training):
    if training is False:
        return weights
    random_numbers = torch.rand_like(weights)
    keep_mask = random_numbers > p
    zeros = torch.zeros_like(weights)
    kept_weights = torch.where(keep_mask, weights, zeros)
    keep_probability = 1 - p
    rescaled_weights = kept_weights / keep_probability
    return rescaled_weights
