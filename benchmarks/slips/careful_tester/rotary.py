"""Positions: the sines and cosines that are added, and the rotation of pairs."""

import math

import torch

from softmax import check_last_axes, check_shape


# ---------------------------------------------------------------- sinusoidal


def wave_length(pair, d_model):
    assert 0 <= pair < d_model // 2, "there are d_model / 2 pairs"
    return 10000.0 ** (2 * pair / d_model)


def encode_position(position, d_model):
    angles = [position / wave_length(pair=pair, d_model=d_model) for pair in range(d_model // 2)]
    features = [wave(angle) for angle in angles for wave in (math.sin, math.cos)]
    assert len(features) == d_model, "one sine and one cosine per pair"
    return features


def sinusoidal_encoding(seq_len, d_model):
    assert d_model % 2 == 0, "d_model must be even"
    rows = [encode_position(position=position, d_model=d_model) for position in range(seq_len)]
    table = torch.tensor(rows, dtype=torch.float32)
    check_shape(tensor=table, expected=(seq_len, d_model), name="table")
    return table


# ---------------------------------------------------------------- rotary


def default_positions(tokens):
    return torch.arange(tokens.shape[-2], device=tokens.device)


def pair_frequencies(d_k, theta, device=None):
    assert d_k % 2 == 0, "the features come in pairs"
    pairs = torch.arange(d_k // 2, dtype=torch.float64, device=device)
    frequencies = theta ** (-2.0 * pairs / d_k)
    check_shape(tensor=frequencies, expected=(d_k // 2,), name="frequencies")
    return frequencies


def rotation_angles(positions, frequencies):
    angles = positions.unsqueeze(dim=-1) * frequencies
    check_shape(tensor=angles, expected=(*positions.shape, frequencies.shape[0]), name="angles")
    return angles


def rotate_pairs(first, second, cosines, sines):
    assert first.shape == second.shape, "both halves of the pairs have the same shape"
    check_last_axes(tensor=first, expected=cosines.shape[-2:], name="first")
    new_first = first * cosines - second * sines
    new_second = first * sines + second * cosines
    return new_first, new_second


def rotate(vectors, positions, theta):
    d_k = vectors.shape[-1]
    frequencies = pair_frequencies(d_k=d_k, theta=theta, device=vectors.device)
    angles = rotation_angles(positions=positions, frequencies=frequencies)
    new_first, new_second = rotate_pairs(
        first=vectors[..., 0::2],
        second=vectors[..., 1::2],
        cosines=torch.cos(angles).to(dtype=vectors.dtype),
        sines=torch.sin(angles).to(dtype=vectors.dtype),
    )
    rotated = torch.stack([new_first, new_second], dim=-1)
    rotated = rotated.flatten(start_dim=-2)
    check_shape(tensor=rotated, expected=vectors.shape, name="rotated")
    return rotated
