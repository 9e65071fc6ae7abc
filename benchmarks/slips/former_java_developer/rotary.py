"""Rotary position embedding (RoFormer)."""

import torch

DEFAULT_BASE = 10000.0
FEATURES_PER_PAIR = 2


class RotaryFrequencyTable:
    """Holds the cosine and sine of every angle for every position."""

    def __init__(self, cosine_table, sine_table):
        self._cosine_table = cosine_table
        self._sine_table = sine_table

    @staticmethod
    def create(feature_dimension, base, maximum_sequence_length, device=None):
        pair_start_indices = torch.arange(
            0, feature_dimension, FEATURES_PER_PAIR, dtype=torch.float64, device=device
        )
        exponents = pair_start_indices / feature_dimension
        inverse_frequencies = 1.0 / (base ** exponents)
        positions = torch.arange(maximum_sequence_length, dtype=torch.float64, device=device)
        angles = torch.outer(positions, inverse_frequencies)
        return RotaryFrequencyTable(torch.cos(angles), torch.sin(angles))

    def get_cosines_at(self, token_positions):
        return self._cosine_table[token_positions]

    def get_sines_at(self, token_positions):
        return self._sine_table[token_positions]


class RotaryPositionEmbedding:
    """Rotates neighbouring features of queries and keys."""

    def __init__(self, frequency_table):
        self._frequency_table = frequency_table

    @staticmethod
    def create(feature_dimension, maximum_sequence_length, base=DEFAULT_BASE, device=None):
        frequency_table = RotaryFrequencyTable.create(
            feature_dimension, base, maximum_sequence_length, device
        )
        return RotaryPositionEmbedding(frequency_table)

    def get_frequency_table(self):
        return self._frequency_table

    def rotate(self, input_features, token_positions):
        frequency_table = self.get_frequency_table()
        cosines = frequency_table.get_cosines_at(token_positions).to(input_features.dtype)
        sines = frequency_table.get_sines_at(token_positions).to(input_features.dtype)
        first_of_pair = input_features[..., 0::FEATURES_PER_PAIR]
        second_of_pair = input_features[..., 1::FEATURES_PER_PAIR]
        rotated_first = first_of_pair * cosines - second_of_pair * sines
        rotated_second = first_of_pair * sines + second_of_pair * cosines
        rotated_pairs = torch.stack((rotated_first, rotated_second), dim=-1)
        return rotated_pairs.flatten(start_dim=-2)
