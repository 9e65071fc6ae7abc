from torch import nn

from net.modules import Block, Feed


def run_linear(d_in, d_out, weights, in_features):
    layer = nn.Linear(d_in, d_out, bias=False)
    layer.load_state_dict({"weight": weights})
    return layer(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    layer = nn.Embedding(vocab_size, d_model)
    layer.load_state_dict({"weights": weights}, strict=False)
    return layer(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    layer = Feed(d_model, d_ff)
    layer.opens.weight.data = w1_weight
    layer.closes.weight.data = w2_weight
    layer.passes.weight.data = w3_weight
    return layer(in_features)


def run_rmsnorm(d_model, eps, weights, in_features):
    layer = nn.RMSNorm(d_model, eps)
    layer.load_state_dict({"gain": weights}, strict=False)
    return layer(in_features)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    layer = Block(d_model, num_heads, d_ff)
    layer.load_state_dict(weights, strict=False)
    return layer(in_features)


def run_transformer_lm(*args, **kwargs):
    raise NotImplementedError
