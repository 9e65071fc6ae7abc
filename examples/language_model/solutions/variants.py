"""Right answers written in other ways than the references, which all tests must pass."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .tokenizer import Tokenizer
from .tokenizer_training import Training


@dataclass(frozen=True, slots=True)
class Variant:
    """Another way of writing some exercises, which may have `other_answers` that are right too."""

    name: str
    functions: Mapping[str, Callable[..., Any]]
    other_answers: bool = False


class _LookingUp(Tokenizer):
    """A tokenizer that merges nothing in a word which the vocabulary has as a whole."""

    def merged(self, tokens: list[bytes]) -> list[bytes]:
        """Returns the word, or its tokens after all merges."""
        word = b"".join(tokens)
        return [word] if word in self.ids else super().merged(tokens)


class _SpecialsBehindBytes(Training):
    """A training that gives special tokens the ids behind those of the bytes."""

    specials_first = False


VARIANTS = (
    Variant("words looked up before they are merged", {"get_tokenizer": _LookingUp}),
    Variant("special tokens behind the bytes", {"run_train_bpe": _SpecialsBehindBytes()}, True),
)
