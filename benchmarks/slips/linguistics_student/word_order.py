"""Where the words stand: waves that are added, and rotations that are multiplied."""

import torch
from einops import einsum, rearrange, repeat

from attending import heads_attending, reading_order


def tempo(width, base, device=None):
    """How far each pair of features turns from one word to the next; later pairs are slower."""
    pair = torch.arange(width // 2, device=device, dtype=torch.float32)
    return base ** (-2 * pair / width)


def angles_at(places, width, base):
    """The angle of every pair of features at every place."""
    speeds = tempo(width, base, places.device)
    return einsum(places.to(speeds.dtype), speeds, "... word, pair -> ... word pair")


def waves(how_many_words, width):
    """The encoding of Vaswani et al.: sine, cosine, sine, cosine, ..., slower and slower."""
    angles = angles_at(torch.arange(how_many_words), width, base=10_000.0)
    sines_and_cosines = torch.stack((angles.sin(), angles.cos()), dim=-1)
    return rearrange(sines_and_cosines, "word pair wave -> word (pair wave)")


def turned(words, places, base):
    """Rotate the neighbouring features of each word by angles that depend on its place."""
    width = words.shape[-1]
    angles = angles_at(places, width, base)
    cosine, sine = angles.cos(), angles.sin()
    east, north = rearrange(words, "... word (pair axis) -> axis ... word pair", axis=2)
    new_east = cosine * east - sine * north
    new_north = sine * east + cosine * north
    compass = torch.stack((new_east, new_north))
    together = rearrange(compass, "axis ... word pair -> ... word (pair axis)")
    return together.to(words.dtype)


def heads_attending_in_order(how_many_heads, base, matrices, words, places=None):
    """Multi-head self-attention that knows how far apart its words are."""
    how_many_words = words.shape[-2]
    if places is None:
        places = torch.arange(how_many_words, device=words.device)
    places = repeat(places, "... word -> ... head word", head=how_many_heads)
    visible = reading_order(how_many_words, words.device)
    return heads_attending(
        how_many_heads,
        matrices,
        attending=words,
        attended_to=words,
        meanings=words,
        visible=visible,
        turn=lambda spoken: turned(spoken, places, base),
    )
