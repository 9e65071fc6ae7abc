"""Position layers."""

import torch
from layers import Layer


class SinePositionEncoding(Layer):
    def __init__(self, max_wavelength=10000):
        super().__init__()
        self.max_wavelength = max_wavelength

    def call(self, inputs):
        """inputs: (seq, hidden), only its shape matters (as in keras_nlp)."""
        seq_length, hidden_size = inputs.shape
        position = torch.arange(seq_length, dtype=torch.float32)
        min_freq = 1 / self.max_wavelength
        column = torch.arange(hidden_size)
        timescales = torch.pow(min_freq, 2 * (column // 2) / hidden_size)
        angles = position[:, None] * timescales[None, :]
        cos_mask = (column % 2).float()
        sin_mask = 1 - cos_mask
        return torch.sin(angles) * sin_mask + torch.cos(angles) * cos_mask

    def get_config(self):
        return {"max_wavelength": self.max_wavelength}


class RotaryEmbedding(Layer):
    def __init__(self, max_wavelength=10000, max_length=512):
        super().__init__()
        self.max_wavelength = max_wavelength
        self.max_length = max_length

    def build(self, input_shape):
        feature_dim = input_shape[-1]
        exponents = torch.arange(0, feature_dim, 2, dtype=torch.float64) / feature_dim
        inverse_freq = self.max_wavelength ** -exponents
        angles = torch.outer(torch.arange(self.max_length, dtype=torch.float64), inverse_freq)
        self.register_buffer("cos_table", torch.cos(angles))
        self.register_buffer("sin_table", torch.sin(angles))
        self.built = True

    def rotate_pairs(self, x):
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((-odd, even), dim=-1).flatten(-2)

    def lookup(self, table, positions, like):
        values = table.to(like)[positions]
        return values.repeat_interleave(2, dim=-1)

    def call(self, inputs, positions):
        cos = self.lookup(self.cos_table, positions, inputs)
        sin = self.lookup(self.sin_table, positions, inputs)
        return inputs * cos + self.rotate_pairs(inputs) * sin

    def get_config(self):
        return {"max_wavelength": self.max_wavelength, "max_length": self.max_length}
