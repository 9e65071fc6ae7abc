"""The model answer on the tokenizer; a known mistake replaces one of its methods."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

from .pretokens import cut_at, longest_first, words

Pair = tuple[bytes, bytes]


class Tokenizer:
    """A byte-pair tokenizer."""

    def __init__(
        self,
        vocab: dict[int, bytes],
        merges: list[Pair],
        special_tokens: list[str] | None = None,
    ) -> None:
        self.vocab = dict(vocab)
        self.special_tokens = self.in_order(special_tokens or [])
        for special in special_tokens or []:
            if special.encode() not in self.vocab.values():
                self.vocab[max(self.vocab, default=-1) + 1] = special.encode()
        self.ids = {token: number for number, token in self.vocab.items()}
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}

    def encode(self, text: str) -> list[int]:
        """Returns the ids of a text's special tokens, and of its other words after all merges."""
        ids: list[int] = []
        for part, special in self.parts(text):
            if special:
                ids.append(self.ids[part.encode()])
            else:
                for word in self.words(part):
                    ids += [self.ids[token] for token in self.merged(self.bytes_of(word))]
        return ids

    def encode_iterable(self, iterable: Iterable[str]) -> Iterator[int]:
        """Yields the ids of one line after another."""
        for line in iterable:
            yield from self.encode(line)

    def decode(self, ids: list[int]) -> str:
        """Returns the text of the bytes; bytes that are not text become a replacement mark."""
        return b"".join(self.vocab[number] for number in ids).decode(errors="replace")

    def in_order(self, special_tokens: list[str]) -> list[str]:
        """Returns the special tokens in the order of the search for them."""
        return longest_first(special_tokens)

    def parts(self, text: str) -> Iterator[tuple[str, bool]]:
        """Returns the parts of a text, each with whether it is a special token."""
        return cut_at(text, self.special_tokens)

    def words(self, text: str) -> Sequence[str]:
        """Returns the words of a text, each of which is merged by itself."""
        return words(text)

    def bytes_of(self, word: str) -> list[bytes]:
        """Returns the initial tokens of a word, which are its bytes."""
        return [bytes([byte]) for byte in word.encode()]

    def merged(self, tokens: list[bytes]) -> list[bytes]:
        """Merges the pair that was learnt first, everywhere, until no known pair is left."""
        while True:
            known = [pair for pair in itertools.pairwise(tokens) if pair in self.ranks]
            if not known:
                return tokens
            tokens = merge(tokens, min(known, key=self.ranks.__getitem__))


def merge(tokens: Sequence[bytes], pair: Pair) -> list[bytes]:
    """Makes one token of each pair, from left to right."""
    merged: list[bytes] = []
    place = 0
    while place < len(tokens):
        if tuple(tokens[place : place + 2]) == pair:
            merged.append(pair[0] + pair[1])
            place += 2
        else:
            merged.append(tokens[place])
            place += 1
    return merged
