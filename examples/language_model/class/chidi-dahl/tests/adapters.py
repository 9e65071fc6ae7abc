from basics import bpe, optim
from basics import nn as mine


def run_linear(d_in, d_out, weights, in_features):
    layer = mine.Linear(d_in, d_out)
    layer.W.data = weights
    return layer(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    layer = mine.Embedding(vocab_size, d_model)
    layer.table.data = weights
    return layer(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    layer = mine.SwiGLU(d_model, d_ff)
    layer.gate.W.data, layer.down.W.data, layer.up.W.data = w1_weight, w2_weight, w3_weight
    return layer(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return mine.dot_product_attention(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    layer = mine.Attention(d_model, num_heads)
    layer.load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(in_features)


def run_multihead_self_attention_with_rope(
    d_model,
    num_heads,
    max_seq_len,
    theta,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
    token_positions=None,
):
    layer = mine.Attention(d_model, num_heads, theta)
    layer.load(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return mine.rope(in_query_or_key, theta, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    return mine.Block(d_model, num_heads, d_ff, theta).load(weights)(in_features)


def run_transformer_lm(
    vocab_size,
    context_length,
    d_model,
    num_layers,
    num_heads,
    d_ff,
    rope_theta,
    weights,
    in_indices,
):
    model = mine.LanguageModel(vocab_size, d_model, num_layers, num_heads, d_ff, rope_theta)
    return model.load(weights)(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    layer = mine.RMSNorm(d_model, eps)
    layer.gain.data = weights
    return layer(in_features)


def run_silu(in_features):
    return mine.silu(in_features)


def run_softmax(in_features, dim):
    return mine.softmax(in_features, dim)


def run_cross_entropy(inputs, targets):
    return mine.cross_entropy(inputs, targets)


def run_get_batch(dataset, batch_size, context_length, device):
    return optim.batch(dataset, batch_size, context_length, device)


def run_gradient_clipping(parameters, max_l2_norm):
    optim.clip(parameters, max_l2_norm)


def get_adamw_cls():
    return optim.AdamW


def run_get_lr_cosine_schedule(
    it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters
):
    return optim.schedule(
        it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters
    )


def run_save_checkpoint(model, optimizer, iteration, out):
    optim.save(model, optimizer, iteration, out)


def run_load_checkpoint(src, model, optimizer):
    return optim.load(src, model, optimizer)


def get_tokenizer(vocab, merges, special_tokens=None):
    return bpe.Tokenizer(vocab, merges, special_tokens)


def run_train_bpe(input_path, vocab_size, special_tokens, **kwargs):
    return bpe.train(input_path, vocab_size, special_tokens)
