import torch

from minilm import corpus, layers, loop, model


def _filled(module, **weights):
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(weights[name.replace(".weight", "")])
    return module


def run_linear(d_in, d_out, weights, in_features):
    return _filled(layers.Dense(d_in, d_out), weight=weights)(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    return _filled(layers.Lookup(vocab_size, d_model), weight=weights)(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    layer = layers.FeedForward(d_model, d_ff)
    return _filled(layer, w1=w1_weight, w2=w2_weight, w3=w3_weight)(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return layers.attend(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    layer = model.SelfAttention(d_model, num_heads)
    _filled(
        layer,
        q_proj=q_proj_weight,
        k_proj=k_proj_weight,
        v_proj=v_proj_weight,
        output_proj=o_proj_weight,
    )
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
    layer = model.SelfAttention(d_model, num_heads, max_seq_len, theta)
    _filled(
        layer,
        q_proj=q_proj_weight,
        k_proj=k_proj_weight,
        v_proj=v_proj_weight,
        output_proj=o_proj_weight,
    )
    return layer(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return layers.Rotary(d_k, theta, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    layer = model.Layer(d_model, num_heads, d_ff, max_seq_len, theta)
    layer.load_state_dict(weights)
    return layer(in_features)


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
    whole = model.Model(
        vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta
    )
    whole.load_state_dict(weights)
    return whole(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    return _filled(layers.Norm(d_model, eps), weight=weights)(in_features)


def run_silu(in_features):
    return layers.swish(in_features)


def run_softmax(in_features, dim):
    return layers.stable_softmax(in_features, dim)


def run_cross_entropy(inputs, targets):
    return model.negative_log_likelihood(inputs, targets)


def run_get_batch(dataset, batch_size, context_length, device):
    return loop.batch(dataset, batch_size, context_length, device)


def run_gradient_clipping(parameters, max_l2_norm):
    loop.clip(parameters, max_l2_norm)


def get_adamw_cls():
    return loop.AdamW


def run_get_lr_cosine_schedule(
    it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters
):
    return loop.schedule(
        it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters
    )


def run_save_checkpoint(model, optimizer, iteration, out):
    loop.save(model, optimizer, iteration, out)


def run_load_checkpoint(src, model, optimizer):
    return loop.load(src, model, optimizer)


def get_tokenizer(vocab, merges, special_tokens=None):
    return corpus.Tokenizer(vocab, merges, special_tokens)


def run_train_bpe(input_path, vocab_size, special_tokens, **kwargs):
    return corpus.train(input_path, vocab_size, special_tokens)
