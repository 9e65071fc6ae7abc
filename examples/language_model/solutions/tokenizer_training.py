"""The model answer on the tokenizer's training; a known mistake replaces one of its methods."""

import itertools
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from .pretokens import cut_at, longest_first, words
from .tokenizer import Pair, merge

Word = tuple[bytes, ...]
Learnt = tuple[dict[int, bytes], list[Pair]]


class Counts:
    """The counts of all pairs of neighbouring tokens within the words of a text.

    A merge changes only the counts of the words with the pair, and looks at no other word.
    """

    def __init__(self, counted: Mapping[Word, int]) -> None:
        self.words: list[Sequence[bytes]] = list(counted)
        self.numbers = list(counted.values())
        self.pairs: Counter[Pair] = Counter()
        # The words that have or had a pair, in a dict, because a set does not keep the order.
        self.places: defaultdict[Pair, dict[int, None]] = defaultdict(dict)
        for place in range(len(self.words)):
            self.count(place)

    def pairs_of(self, place: int) -> Iterator[Pair]:
        """Returns the pairs of neighbours in a word."""
        return itertools.pairwise(self.words[place])

    def count(self, place: int) -> None:
        """Adds the pairs of a word."""
        for pair in self.pairs_of(place):
            self.pairs[pair] += self.numbers[place]
            self.places[pair][place] = None

    def discount(self, place: int) -> None:
        """Subtracts the pairs of a word."""
        for pair in self.pairs_of(place):
            self.pairs[pair] -= self.numbers[place]
            if not self.pairs[pair]:
                del self.pairs[pair]

    def are_left(self) -> bool:
        """Returns whether there is a pair to merge."""
        return bool(self.pairs)

    def merge(self, pair: Pair) -> None:
        """Makes one token of a pair, wherever a word has it."""
        for place in self.places.pop(pair):
            self.discount(place)
            self.words[place] = merge(self.words[place], pair)
            self.count(place)


class Training:
    """A training that learns a vocabulary and its merges from a text.

    The ids of special tokens may be the first, or may follow the bytes.
    """

    specials_first = True
    counts: type[Counts] = Counts

    def __call__(
        self,
        input_path: str | os.PathLike[str],
        vocab_size: int,
        special_tokens: list[str],
    ) -> Learnt:
        """Returns the vocabulary, and the merges in order."""
        text = Path(input_path).read_text("utf-8")
        counted: Counter[Word] = Counter()
        for word, number in Counter(self.words(text, special_tokens)).items():
            counted[self.first_tokens(word)] += number
        counts = self.counts(counted)
        merges: list[Pair] = []
        for _ in range(self.merges_wanted(vocab_size, special_tokens)):
            if not counts.are_left():
                break
            merges.append(self.best(counts.pairs))
            counts.merge(merges[-1])
        return self.vocabulary(special_tokens, merges), merges

    def vocabulary(self, special_tokens: list[str], merges: list[Pair]) -> dict[int, bytes]:
        """Returns all tokens by their ids."""
        specials = [special.encode() for special in special_tokens]
        letters = [bytes([byte]) for byte in range(256)]
        first = [*specials, *letters] if self.specials_first else [*letters, *specials]
        return dict(enumerate([*first, *map(b"".join, merges)]))

    def words(self, text: str, special_tokens: list[str]) -> Iterable[str]:
        """Yields the words of a text without its special tokens, at which it is cut."""
        for part, special in cut_at(text, longest_first(special_tokens)):
            if not special:
                yield from words(part)

    def first_tokens(self, word: str) -> Word:
        """Returns the bytes of a word."""
        return tuple(bytes([byte]) for byte in word.encode())

    def merges_wanted(self, vocab_size: int, special_tokens: list[str]) -> int:
        """Returns the number of tokens that are left to learn."""
        return vocab_size - 256 - len(special_tokens)

    def best(self, pairs: Counter[Pair]) -> Pair:
        """Returns the most frequent pair; among several, the lexicographically greatest."""
        most = max(pairs.values())
        return max(pair for pair, number in pairs.items() if number == most)


train_bpe = Training()
