"""Part 9, the tokenizer: from text to token ids, and back."""

from collections.abc import Iterable, Iterator


class Tokenizer:
    """A byte-pair tokenizer."""

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
        """The token ids of a text that comes piece by piece, one after another."""
        raise NotImplementedError("Tokenizer.encode_iterable is not written yet")

    def decode(self, ids: list[int]) -> str:
        """The text that token ids stand for."""
        raise NotImplementedError("Tokenizer.decode is not written yet")
