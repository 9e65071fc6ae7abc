"""Cuts a text into words by patterns that students write in the place of GPT-2's."""

import re

_CONTRACTIONS, _REST = r"'(?:[sdmt]|ll|ve|re)", r" ?[^\s\w]+|\s+(?!\S)|\s+"


def with_word_characters(text: str) -> list[str]:
    r"""Returns words of which one has any characters that `\w` matches."""
    return re.findall(rf"{_CONTRACTIONS}| ?\w+|{_REST}", text)


def with_underscores(text: str) -> list[str]:
    """Returns words in which an underscore counts as a letter."""
    return re.findall(rf"{_CONTRACTIONS}| ?[^\W\d]+| ?\d+|{_REST}", text)


def with_letters_of_ascii(text: str) -> list[str]:
    """Returns words as a pattern of bytes finds them: it knows the letters of ASCII alone."""
    return re.findall(
        rf"{_CONTRACTIONS}| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+", text, re.ASCII
    )
