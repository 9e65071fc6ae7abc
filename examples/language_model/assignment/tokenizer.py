r"""Part 9, the tokenizer: from text to token ids, and back.

A text is cut three times: at its special tokens, then into words, and then each word into tokens.
Words are found by the pattern of GPT-2, which needs the package `regex`:

    '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+

Paper: Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units".
"""

from collections.abc import Iterable, Iterator


class Tokenizer:
    """A byte-pair tokenizer.

    The tokens of a word are at first the bytes of its UTF-8. Then the pair of neighbours that comes
    first in `merges` is made one token, wherever the word has it; then the next, until no pair is
    left that is to be merged. Nothing is merged across the border of two words.

    With the merges t + h, _ + c, _ + a, th + e and _a + t (where _ is a space):

        the cat ate  ->  the | _c a t | _at e

    Special tokens are found first, and are tokens as they are. Where several begin at one place,
    the longest is meant. One that is not in the vocabulary gets the next free id.

    Ask yourself:
    * If a word has two known pairs, which of them was merged first when the merges were learnt?
    * What does `|` mean in a pattern, and what in `<|endoftext|>`?
    """

    def __init__(
        self,
        vocab: dict[int, bytes],
        merges: list[tuple[bytes, bytes]],
        special_tokens: list[str] | None = None,
    ) -> None:
        raise NotImplementedError("Tokenizer is not written yet")

    def encode(self, text: str) -> list[int]:
        """The token ids of a text."""
        raise NotImplementedError("Tokenizer.encode is not written yet")

    def encode_iterable(self, iterable: Iterable[str]) -> Iterator[int]:
        """The token ids of a text that comes line by line, as from a file.

        The text may be larger than the memory: give the ids of a line before you read the next.
        """
        raise NotImplementedError("Tokenizer.encode_iterable is not written yet")

    def decode(self, ids: list[int]) -> str:
        """The text that token ids stand for.

        A token may hold a part of a character only. Bytes that are no valid UTF-8 become U+FFFD, as
        `bytes.decode` does it with `errors="replace"`.
        """
        raise NotImplementedError("Tokenizer.decode is not written yet")
