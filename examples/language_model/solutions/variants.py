"""Right answers written in other ways than the references, which all tests must pass."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Variant:
    """Another way of writing some exercises."""

    name: str
    functions: Mapping[str, Callable[..., Any]]


class _LookingUp(Tokenizer):
    """A tokenizer that merges nothing in a word which the vocabulary has as a whole."""

    def merged(self, tokens: list[bytes]) -> list[bytes]:
        """Returns the word, or its tokens after all merges."""
        word = b"".join(tokens)
        return [word] if word in self.ids else super().merged(tokens)


VARIANTS = (Variant("words looked up before they are merged", {"get_tokenizer": _LookingUp}),)
