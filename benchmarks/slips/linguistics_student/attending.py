"""How the words of a sentence attend to each other.

I give the axes names instead of letters, since I never remember what b, t, h and d stand for:

    asking      the words that look around      (the queries)
    answering   the words that are looked at    (the keys)
    feature     the coordinates of a meaning
    head        one of several readers, each with an eye for something else
"""

import math

import torch
from einops import einsum, rearrange, repeat


def shares(likings, along):
    """Turn likings into positive shares that add up to one along an axis (softmax)."""
    strongest = likings.amax(dim=along, keepdim=True)
    enthusiasm = torch.exp(likings - strongest)
    return enthusiasm / enthusiasm.sum(dim=along, keepdim=True)


def reading_order(how_many_words, device=None):
    """True where a word (row) has already read the other (column): left to right."""
    place = torch.arange(how_many_words, device=device)
    reader = rearrange(place, "word -> word 1")
    already_read = rearrange(place, "word -> 1 word")
    return reader >= already_read


def affinity(attending, attended_to):
    """How well each attending word goes with each word that it attends to."""
    return einsum(
        attending,
        attended_to,
        "... asking feature, ... answering feature -> ... asking answering",
    )


def paid_attention(attending, attended_to, visible=None):
    """The share of its attention that each word pays to each other; none to the invisible."""
    width = attended_to.shape[-1]
    likings = affinity(attending, attended_to) / math.sqrt(width)
    if visible is not None:
        likings = likings.masked_fill(~visible, -torch.inf)
    return shares(likings, along=-1)


def gathered(attention, meanings):
    """Each word's mixture of the meanings that it paid attention to."""
    return einsum(
        attention,
        meanings,
        "... asking answering, ... answering feature -> ... asking feature",
    )


def contexts(attending, attended_to, meanings, visible=None):
    """Attention from beginning to end: look around, then gather."""
    attention = paid_attention(attending, attended_to, visible)
    return gathered(attention, meanings)


def resemblance_contexts(words):
    """The simplest attention: words attend to whatever resembles them."""
    attention = shares(affinity(words, words), along=-1)
    return gathered(attention, words)


def forgetful(attention, chance, learning):
    """Forget some of the attention while learning, and speak up for what is left."""
    if not learning:
        return attention
    remembered = torch.rand_like(attention) >= chance
    louder = attention / (1 - chance)
    return torch.where(remembered, louder, torch.zeros_like(louder))


def sentence_contexts(to_ask, to_answer, to_mean, words, left_to_right):
    """Self-attention of one reader whose matrices multiply the words from the right."""
    asking = words @ to_ask
    answering = words @ to_answer
    meaning = words @ to_mean
    visible = None
    if left_to_right:
        visible = reading_order(words.shape[-2], words.device)
    return contexts(asking, answering, meaning, visible)


def readers_side_by_side(to_ask, to_answer, to_mean, words):
    """Several readers of the same sentence, each with matrices of their own."""
    how_many_heads = to_ask.shape[0]
    how_many_words = words.shape[-2]
    reading = "... word old, head old new -> ... head word new"
    asking = einsum(words, to_ask, reading)
    answering = einsum(words, to_answer, reading)
    meaning = einsum(words, to_mean, reading)
    visible = repeat(
        reading_order(how_many_words, words.device),
        "asking answering -> head asking answering",
        head=how_many_heads,
    )
    return out_of_heads(contexts(asking, answering, meaning, visible))


def into_heads(words, how_many_heads):
    """Deal the features of each word out to the heads, in blocks."""
    return rearrange(
        words, "... word (head feature) -> ... head word feature", head=how_many_heads
    )


def out_of_heads(words):
    """Lay what the heads say about a word side by side again."""
    return rearrange(words, "... head word feature -> ... word (head feature)")


def translated(words, matrix):
    """A linear map the way nn.Linear keeps it: one row for each new feature."""
    return einsum(words, matrix, "... old, new old -> ... new")


def heads_attending(how_many_heads, matrices, attending, attended_to, meanings, visible, turn=None):
    """Multi-head attention of one text to another.

    matrices: for asking, answering, meaning and for the last word, in this order.
    turn: what is done to the asking and answering words in each head, e.g. a rotation.
    """
    to_ask, to_answer, to_mean, to_conclude = matrices
    asking = into_heads(translated(attending, to_ask), how_many_heads)
    answering = into_heads(translated(attended_to, to_answer), how_many_heads)
    meaning = into_heads(translated(meanings, to_mean), how_many_heads)
    if turn is not None:
        asking = turn(asking)
        answering = turn(answering)
    heads_say = contexts(asking, answering, meaning, visible)
    return translated(out_of_heads(heads_say), to_conclude)


def how_many_weights(old, new, with_bias, last_with_bias):
    """Count the numbers that a multi-head attention has to learn."""
    each_projection = old * new + (new if with_bias else 0)
    last_projection = new * new + (new if last_with_bias else 0)
    return 3 * each_projection + last_projection
