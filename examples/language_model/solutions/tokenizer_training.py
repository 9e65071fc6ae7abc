"""The model answer on the tokenizer's training; a known mistake is one of its methods replaced."""

import itertools
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from .pretokens import cut_at, longest_first, words
from .tokenizer import Pair, merge

Word = tuple[bytes, ...]
Learnt = tuple[dict[int, bytes], list[Pair]]


class Training:
    """Learns a vocabulary and its merges from a text.

    Which ids the special tokens have is left open: the first, or those behind the bytes.
    """

    specials_first = True

    def __call__(
        self,
        input_path: str | os.PathLike[str],
        vocab_size: int,
        special_tokens: list[str],
    ) -> Learnt:
        """What `run_train_bpe` returns: the vocabulary, and the merges in order."""
        text = Path(input_path).read_text("utf-8")
        counted = Counter(self.first_tokens(word) for word in self.words(text, special_tokens))
        merges: list[Pair] = []
        for _ in range(self.merges_wanted(vocab_size, special_tokens)):
            pairs = self.pairs(counted)
            if not pairs:
                break
            merges.append(self.best(pairs))
            counted = self.after(counted, merges[-1])
        specials = [special.encode() for special in special_tokens]
        letters = [bytes([byte]) for byte in range(256)]
        first = [*specials, *letters] if self.specials_first else [*letters, *specials]
        return dict(enumerate([*first, *map(b"".join, merges)])), merges

    def words(self, text: str, special_tokens: list[str]) -> Iterable[str]:
        """The words of a text without its special tokens, at which it is cut."""
        for part, special in cut_at(text, longest_first(special_tokens)):
            if not special:
                yield from words(part)

    def first_tokens(self, word: str) -> Word:
        """The bytes of a word."""
        return tuple(bytes([byte]) for byte in word.encode())

    def merges_wanted(self, vocab_size: int, special_tokens: list[str]) -> int:
        """How many tokens are left to be learnt."""
        return vocab_size - 256 - len(special_tokens)

    def pairs(self, counted: Mapping[Word, int]) -> Counter[Pair]:
        """How often each two tokens follow each other within a word."""
        pairs: Counter[Pair] = Counter()
        for word, count in counted.items():
            for pair in itertools.pairwise(word):
                pairs[pair] += count
        return pairs

    def best(self, pairs: Counter[Pair]) -> Pair:
        """The most frequent pair; of several, the lexicographically greatest."""
        return max(pairs, key=lambda pair: (pairs[pair], pair))

    def after(self, counted: Mapping[Word, int], pair: Pair) -> Counter[Word]:
        """The words once a pair is merged."""
        changed: Counter[Word] = Counter()
        for word, count in counted.items():
            changed[tuple(merge(word, pair))] += count
        return changed


train_bpe = Training()
