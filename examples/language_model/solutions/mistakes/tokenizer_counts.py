"""Wrong or slow ways of counting pairs in the tokenizer's training."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ..tokenizer import Pair, merge
from ..tokenizer_training import Counts, Word


class Recounted(Counts):
    """Counts of all words, made again after each merge."""

    def merge(self, pair: Pair) -> None:
        self.words = [self.after(word, pair) for word in self.words]
        self.pairs = Counter()
        for place in range(len(self.words)):
            self.count(place)

    def after(self, word: Sequence[bytes], pair: Pair) -> Sequence[bytes]:
        """Returns a word after a pair is merged."""
        return merge(word, pair)


def _first_place_merged(word: Sequence[bytes], pair: Pair) -> Sequence[bytes]:
    places = [n for n, own in enumerate(itertools.pairwise(word)) if own == pair]
    if not places:
        return word
    return [*word[: places[0]], b"".join(pair), *word[places[0] + 2 :]]


class Frequent(Counts):
    """Counts that see no pair in what stands only once."""

    def are_left(self) -> bool:
        return max(self.pairs.values(), default=0) > 1


class RecountedOnce(Recounted):
    """Counts that merge a pair only at its first place in a word, and count all words again."""

    def after(self, word: Sequence[bytes], pair: Pair) -> Sequence[bytes]:
        return _first_place_merged(word, pair)


class CountedOnce(Counts):
    """Counts that merge a pair only at its first place in a word, and count the rest of it."""

    def merge(self, pair: Pair) -> None:
        for place in self.places.pop(pair):
            self.discount(place)
            self.words[place] = _first_place_merged(self.words[place], pair)
            self.count(place)


class ForgottenOnce(CountedOnce):
    """Counts that merge a pair only at its first place in a word, and then forget the pair."""

    def merge(self, pair: Pair) -> None:
        super().merge(pair)
        self.pairs.pop(pair, None)


class Kept(Counts):
    """Counts that stay at zero, so that the training never ends for want of pairs.

    The count of a merged pair either stays as well, or is dropped.
    """

    drops_merged = False

    def discount(self, place: int) -> None:
        for pair in self.pairs_of(place):
            self.pairs[pair] -= self.numbers[place]

    def merge(self, pair: Pair) -> None:
        self.places.setdefault(pair, {})
        super().merge(pair)
        if self.drops_merged:
            del self.pairs[pair]


class Corrected(Counts):
    """Counts that are corrected around each merge, as if no other merge stood beside it.

    Counts that are no longer positive either stay, are dropped, or end the training. The count of
    a merged pair is set to zero if it `keeps` it, and dropped otherwise.
    """

    keeps, drops, ends = False, False, False

    def are_left(self) -> bool:
        return any(n > 0 for n in self.pairs.values()) if self.ends else super().are_left()

    def merge(self, pair: Pair) -> None:
        self.pairs[pair] = 0
        for place in self.places.pop(pair, ()):
            word = self.words[place]
            merged = self.words[place] = merge(word, pair)
            self.correct(word, merged, pair, self.numbers[place])
            for own in itertools.pairwise(merged):
                self.places[own][place] = None
        if not self.keeps:
            self.pairs.pop(pair, None)

    def correct(
        self, word: Sequence[bytes], _merged: Sequence[bytes], pair: Pair, number: int
    ) -> None:
        """Corrects the counts for both neighbours in the word before the merge."""
        for at in _merges(word, pair):
            self.replace(word[at - 1 : at] if at else (), pair, word[at + 2 : at + 3], number)

    def replace(
        self, before: Sequence[bytes], pair: Pair, behind: Sequence[bytes], number: int
    ) -> None:
        """Corrects the counts for the neighbours of a merge, of which there may be none."""
        left, right = pair
        for own in before:
            self.add((own, left), -number)
            self.add((own, left + right), number)
        for own in behind:
            self.add((right, own), -number)
            self.add((left + right, own), number)

    def add(self, pair: Pair, number: int) -> None:
        """Changes the count of one pair."""
        self.pairs[pair] += number
        if self.drops and self.pairs[pair] <= 0:
            del self.pairs[pair]


class CorrectedAtAll(Corrected):
    """Counts that are also corrected at places without a merge: at three places in `aaaa`."""

    def correct(
        self, word: Sequence[bytes], _merged: Sequence[bytes], pair: Pair, number: int
    ) -> None:
        for at, own in enumerate(itertools.pairwise(word)):
            if own == pair:
                self.replace(word[at - 1 : at] if at else (), pair, word[at + 2 : at + 3], number)


class CorrectedAfterwards(Corrected):
    """Counts that are corrected for both neighbours in the word after the merge."""

    def correct(
        self, _word: Sequence[bytes], merged: Sequence[bytes], pair: Pair, number: int
    ) -> None:
        for at, own in enumerate(merged):
            if own == b"".join(pair):
                self.replace(
                    merged[at - 1 : at] if at else (), pair, merged[at + 1 : at + 2], number
                )


class CorrectedApart(Corrected):
    """Counts that leave out the pair of two adjacent merges."""

    def correct(
        self, _word: Sequence[bytes], merged: Sequence[bytes], pair: Pair, number: int
    ) -> None:
        new = b"".join(pair)
        for at, own in enumerate(merged):
            before, behind = merged[at - 1 : at] if at else (), merged[at + 1 : at + 2]
            if own == new:
                self.replace(
                    *([one for one in before if one != new], pair),
                    *([one for one in behind if one != new], number),
                )


def _merges(word: Sequence[bytes], pair: Pair) -> Iterator[int]:
    """Yields the places in a word at which a pair is merged, from left to right."""
    at = 0
    while at < len(word) - 1:
        if (word[at], word[at + 1]) == pair:
            yield at
            at += 1
        at += 1


class Numbered(Counts):
    """Counts with the ids of tokens: those of bytes, then one for each merge."""

    def __init__(self, counted: Mapping[Word, int]) -> None:
        super().__init__(counted)
        self.pairs = _WithIds(self.pairs)

    def merge(self, pair: Pair) -> None:
        self.pairs.ids.setdefault(b"".join(pair), len(self.pairs.ids))
        super().merge(pair)


class _WithIds(Counter[Pair]):
    """A counter that holds the id of each token."""

    def __init__(self, counted: Mapping[Pair, int]) -> None:
        super().__init__(counted)
        self.ids = {bytes([byte]): byte for byte in range(256)}


class WithoutNewPlaces(Counts):
    """Counts that know the words of a text's first pairs only: others are counted, not merged."""

    def merge(self, pair: Pair) -> None:
        for place in self.places.pop(pair, ()):
            for own in self.pairs_of(place):
                self.pairs[own] -= self.numbers[place]
            self.words[place] = merge(self.words[place], pair)
            for own in self.pairs_of(place):
                self.pairs[own] += self.numbers[place]
        del self.pairs[pair]

    def are_left(self) -> bool:
        return any(number > 0 for number in self.pairs.values())


class Stale(Counts):
    """Counts that are made once and never again."""

    def merge(self, pair: Pair) -> None:
        del self.pairs[pair]


class SingleBytesOnly(Counts):
    """Counts without any pair that contains a merged token."""

    def pairs_of(self, place: int) -> Iterator[Pair]:
        return (pair for pair in super().pairs_of(place) if len(b"".join(pair)) == 2)
