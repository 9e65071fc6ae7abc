"""Cuts a text before any merge: at special tokens, then into words."""

import functools
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence


@functools.cache
def words_pattern() -> re.Pattern[str]:
    r"""Returns GPT-2's pattern of words, in the syntax of the standard library.

    The library has no `\p{L}` and `\p{N}`. Its `\w` covers letters, numerals and the underscore,
    and its `\d` the decimal digits. The pattern therefore lists other numerals (as in 2², ½, Ⅷ).
    The library's `\s` has four characters more than Unicode's white space: U+001C to U+001F.
    """
    others = {"No", "Nl"}
    numerals = "".join(
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character) in others
    )
    letter, numeral = rf"[^\W\d_{numerals}]", rf"[\d{numerals}]"
    space, other = r"[^\S\x1c-\x1f]", r"(?:[^\s\w]|[_\x1c-\x1f])"
    return re.compile(
        rf"'(?:[sdmt]|ll|ve|re)| ?{letter}+| ?{numeral}+| ?{other}+"
        rf"|{space}+(?![\S\x1c-\x1f])|{space}+"
    )


def words(text: str) -> list[str]:
    """Returns the words of a text, each with the space before it; merges never cross their ends."""
    return words_pattern().findall(text)


def longest_first(special_tokens: Iterable[str]) -> list[str]:
    """Returns special tokens in the order of the search for them."""
    return sorted(special_tokens, key=len, reverse=True)


def cut_at(text: str, special_tokens: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yields the parts of a text in order, each with whether it is a special token.

    If several begin at one place, the first of them in `special_tokens` is taken.
    """
    if not special_tokens:
        yield text, False
        return
    pattern = "|".join(map(re.escape, special_tokens))
    for number, part in enumerate(re.split(f"({pattern})", text)):
        if part:
            yield part, number % 2 == 1
