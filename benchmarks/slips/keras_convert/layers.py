"""Keras-looking layers: __init__ takes the config, build() makes the weights, call() computes."""

import math

import ops
import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.built = False
        self.weight_names = []

    def add_weight(self, name, shape, initializer="glorot_uniform"):
        weight = nn.Parameter(torch.zeros(shape))
        if initializer == "glorot_uniform":
            nn.init.xavier_uniform_(weight)
        self.register_parameter(name, weight)
        self.weight_names.append(name)

    def set_weights(self, weights):
        """Like keras: in the order in which they were added (kept as they are, so grads flow)."""
        for name, value in zip(self.weight_names, weights, strict=True):
            current = getattr(self, name)
            if current.shape != value.shape:
                raise ValueError(f"{name}: layer has {current.shape}, got {value.shape}")
            delattr(self, name)
            setattr(self, name, value)

    def count_params(self):
        return sum(p.numel() for p in self.parameters())

    def build(self, input_shape):
        self.built = True

    def call(self, *inputs):
        raise NotImplementedError

    def forward(self, *inputs, **kwargs):
        if not self.built:
            self.build(inputs[0].shape)
        return self.call(*inputs, **kwargs)

    def get_config(self):
        return {}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


class Softmax(Layer):
    def __init__(self, axis=-1):
        super().__init__()
        self.axis = axis

    def call(self, inputs, mask=None):
        if mask is not None:
            inputs = torch.where(mask, inputs, float("-inf"))
        return ops.softmax(inputs, axis=self.axis)

    def get_config(self):
        return {"axis": self.axis}


class Dropout(Layer):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def call(self, inputs, training=False):
        if training and self.rate > 0:
            return ops.dropout(inputs, rate=self.rate)
        return inputs

    def get_config(self):
        return {"rate": self.rate}


class Dense(Layer):
    def __init__(self, units, use_bias=True):
        super().__init__()
        self.units = units
        self.use_bias = use_bias

    def build(self, input_shape):
        self.add_weight("kernel", (input_shape[-1], self.units))
        if self.use_bias:
            self.add_weight("bias", (self.units,), initializer="zeros")
        self.built = True

    def call(self, inputs):
        outputs = ops.matmul(inputs, self.kernel)
        if self.use_bias:
            outputs = outputs + self.bias
        return outputs

    def get_config(self):
        return {"units": self.units, "use_bias": self.use_bias}


class Attention(Layer):
    """keras.layers.Attention, with the argument order of keras (query, value, key)."""

    def __init__(self, use_scale=True, causal=False):
        super().__init__()
        self.use_scale = use_scale
        self.causal = causal
        self.softmax = Softmax(axis=-1)

    def compute_scores(self, query, key):
        scores = ops.matmul(query, key, transpose_b=True)
        if self.use_scale:
            scores = scores / math.sqrt(ops.shape(key)[-1])
        return scores

    def compute_attention_mask(self, scores, mask):
        if not self.causal:
            return mask
        causal_mask = ops.causal_mask(ops.shape(scores)[-1], scores.device)
        return causal_mask if mask is None else causal_mask & mask

    def call(self, query, value, key, mask=None, return_attention_scores=False):
        scores = self.compute_scores(query, key)
        mask = self.compute_attention_mask(scores, mask)
        weights = self.softmax(scores, mask=mask)
        result = ops.matmul(weights, value)
        return (result, weights) if return_attention_scores else result

    def get_config(self):
        return {"use_scale": self.use_scale, "causal": self.causal}


class SelfAttentionHead(Layer):
    def __init__(self, units, causal=False):
        super().__init__()
        self.units = units
        self.causal = causal
        self.attention = Attention(causal=causal)

    def build(self, input_shape):
        for name in ("query_kernel", "key_kernel", "value_kernel"):
            self.add_weight(name, (input_shape[-1], self.units))
        self.built = True

    def call(self, inputs):
        query = ops.matmul(inputs, self.query_kernel)
        key = ops.matmul(inputs, self.key_kernel)
        value = ops.matmul(inputs, self.value_kernel)
        return self.attention(query, value, key)

    def get_config(self):
        return {"units": self.units, "causal": self.causal}


class StackedHeads(Layer):
    """One SelfAttentionHead per head, then a Concatenate."""

    def __init__(self, num_heads, units):
        super().__init__()
        config = {"units": units, "causal": True}
        self.heads = nn.ModuleList(SelfAttentionHead.from_config(config) for _ in range(num_heads))

    def build(self, input_shape):
        for head in self.heads:
            head.build(input_shape)
        self.built = True

    def set_weights(self, weights):
        query_kernels, key_kernels, value_kernels = weights
        for h, head in enumerate(self.heads):
            head.set_weights([query_kernels[h], key_kernels[h], value_kernels[h]])

    def call(self, inputs):
        return ops.concatenate([head(inputs) for head in self.heads], axis=-1)


class MultiHeadAttention(Layer):
    def __init__(self, num_heads, units, causal=False, use_bias=False, output_bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.query_dense = Dense(units, use_bias=use_bias)
        self.key_dense = Dense(units, use_bias=use_bias)
        self.value_dense = Dense(units, use_bias=use_bias)
        self.output_dense = Dense(units, use_bias=output_bias)
        self.attention = Attention(use_scale=True, causal=causal)
        self.rotary = None

    def build(self, input_shape):
        for dense in (self.query_dense, self.key_dense, self.value_dense):
            dense.build(input_shape)
        self.output_dense.build((self.value_dense.units,))
        self.built = True

    def set_weights(self, weights):
        """torch Linear weights (out, in) -> keras kernels (in, out)."""
        denses = (self.query_dense, self.key_dense, self.value_dense, self.output_dense)
        for dense, weight in zip(denses, weights, strict=True):
            dense.set_weights([weight.T])

    def call(self, query, value, key=None, positions=None):
        if key is None:
            key = value
        query = ops.separate_heads(self.query_dense(query), self.num_heads)
        key = ops.separate_heads(self.key_dense(key), self.num_heads)
        value = ops.separate_heads(self.value_dense(value), self.num_heads)
        if self.rotary is not None:
            positions = positions[..., None, :]
            query = self.rotary(query, positions)
            key = self.rotary(key, positions)
        outputs = ops.combine_heads(self.attention(query, value, key))
        return self.output_dense(outputs)
