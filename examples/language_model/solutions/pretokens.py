"""How a text is cut before anything is merged: at special tokens, then into words."""

import functools
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence


@functools.cache
def words_pattern() -> re.Pattern[str]:
    r"""GPT-2's pattern of words, in the language of the standard library.

    That has no `\p{L}` and `\p{N}`: its `\w` are letters, numerals and the underscore, its `\d` the
    decimal digits, and the numerals that are none (as in 2², ½, Ⅷ) are listed here.
    """
    others = {"No", "Nl"}
    numerals = "".join(
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character) in others
    )
    letter, numeral = rf"[^\W\d_{numerals}]", rf"[\d{numerals}]"
    return re.compile(
        rf"'(?:[sdmt]|ll|ve|re)| ?{letter}+| ?{numeral}+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+"
    )


def words(text: str) -> list[str]:
    """The words of a text, each with the space before it; merges never cross their ends."""
    return words_pattern().findall(text)


def longest_first(special_tokens: Iterable[str]) -> list[str]:
    """Special tokens in the order in which they are looked for."""
    return sorted(special_tokens, key=len, reverse=True)


def cut_at(text: str, special_tokens: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """The parts of a text in order, each with whether it is a special token.

    Where several begin at one place, that which comes first in `special_tokens` is taken.
    """
    if not special_tokens:
        yield text, False
        return
    pattern = "|".join(map(re.escape, special_tokens))
    for number, part in enumerate(re.split(f"({pattern})", text)):
        if part:
            yield part, number % 2 == 1
