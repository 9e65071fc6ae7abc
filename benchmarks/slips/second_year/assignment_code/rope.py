"""Position encodings: the sinusoidal one of the transformer paper and RoPE."""

import math

import torch
import torch.nn as nn


class SinusoidalPositionalEncoding(nn.Module):
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(the same)."""

    def __init__(self, d_model, max_length=5000):
        super().__init__()
        assert d_model % 2 == 0, "d_model must be even"
        # double precision, because the angles get large for late positions
        position = torch.arange(max_length, dtype=torch.float64).unsqueeze(1)
        even_indices = torch.arange(0, d_model, 2, dtype=torch.float64)
        # 1 / 10000^(2i/d) = exp(2i * (-log(10000) / d)), even_indices is already 2i
        division_term = torch.exp(even_indices * (-math.log(10000.0) / d_model))
        angles = position * division_term
        encoding = torch.zeros(max_length, d_model)
        encoding[:, 0::2] = torch.sin(angles)
        encoding[:, 1::2] = torch.cos(angles)
        self.register_buffer("encoding", encoding, persistent=False)

    def forward(self, sequence_length):
        return self.encoding[:sequence_length]


class RotaryPositionalEmbedding(nn.Module):
    """RoPE: rotates the pairs (0, 1), (2, 3), ... of the last dimension."""

    def __init__(self, head_dimension, max_sequence_length=2048, theta_base=10000.0):
        super().__init__()
        assert head_dimension % 2 == 0, "RoPE needs an even dimension"
        self.head_dimension = head_dimension
        self.max_sequence_length = max_sequence_length
        # exponents 0/d, 2/d, 4/d, ... one for each pair
        exponents = torch.arange(0, head_dimension, 2, dtype=torch.float64) / head_dimension
        inverse_frequencies = 1.0 / (theta_base ** exponents)
        all_positions = torch.arange(max_sequence_length, dtype=torch.float64)
        # (max_sequence_length, 1) * (1, head_dimension / 2)
        angle_table = all_positions.unsqueeze(1) * inverse_frequencies.unsqueeze(0)
        # buffers and not parameters, because they are not trained
        self.register_buffer("cosine_table", torch.cos(angle_table), persistent=False)
        self.register_buffer("sine_table", torch.sin(angle_table), persistent=False)

    def forward(self, input_tensor, token_positions):
        # input_tensor: (..., num_tokens, head_dimension), token_positions: (..., num_tokens)
        assert input_tensor.shape[-1] == self.head_dimension
        token_positions = token_positions.long()
        cosine = self.cosine_table[token_positions].to(input_tensor.dtype)
        sine = self.sine_table[token_positions].to(input_tensor.dtype)
        first_of_pair = input_tensor[..., 0::2]
        second_of_pair = input_tensor[..., 1::2]
        # rotation matrix [[cos, -sin], [sin, cos]]
        rotated_first = first_of_pair * cosine - second_of_pair * sine
        rotated_second = first_of_pair * sine + second_of_pair * cosine
        # put the pairs next to each other again
        rotated = torch.stack([rotated_first, rotated_second], dim=-1)
        rotated = rotated.flatten(start_dim=-2)
        assert rotated.shape == input_tensor.shape
        return rotated
