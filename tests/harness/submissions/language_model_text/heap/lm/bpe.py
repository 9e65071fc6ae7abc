import heapq
import itertools
from collections import Counter, defaultdict

from .words import words


class Greatest:
    """Turns the order around: the greatest pair comes out of the heap first."""

    __slots__ = ("pair",)

    def __init__(self, pair):
        self.pair = pair

    def __lt__(self, other):
        return self.pair > other.pair


def split(text: str, special_tokens: list[str]) -> list[str]:
    parts = [text]
    for special in sorted(special_tokens, key=len, reverse=True):
        parts = [piece for part in parts for piece in part.split(special)]
    return parts


def train(input_path, vocab_size, special_tokens, **kwargs):
    with open(input_path, encoding="utf-8", newline="") as file:
        text = file.read()
    frequency = Counter(w for part in split(text, special_tokens) for w in words(part))
    pieces = [[bytes([b]) for b in word.encode()] for word in frequency]
    weights = list(frequency.values())

    counts: Counter = Counter()
    where = defaultdict(set)
    for number, piece in enumerate(pieces):
        for pair in itertools.pairwise(piece):
            counts[pair] += weights[number]
            where[pair].add(number)
    heap = [(-count, Greatest(pair)) for pair, count in counts.items()]
    heapq.heapify(heap)

    vocab = {n: special.encode() for n, special in enumerate(special_tokens)}
    for byte in range(256):
        vocab[len(vocab)] = bytes([byte])
    merges = []
    while len(vocab) < vocab_size and heap:
        negative, greatest = heapq.heappop(heap)
        pair = greatest.pair
        if counts[pair] != -negative or not counts[pair]:
            continue
        merges.append(pair)
        vocab[len(vocab)] = pair[0] + pair[1]
        changed = set()
        for number in where.pop(pair):
            old = pieces[number]
            new, i = [], 0
            while i < len(old):
                if i + 1 < len(old) and (old[i], old[i + 1]) == pair:
                    new.append(pair[0] + pair[1])
                    i += 2
                else:
                    new.append(old[i])
                    i += 1
            for gone in itertools.pairwise(old):
                counts[gone] -= weights[number]
                where[gone].discard(number)
                changed.add(gone)
            for come in itertools.pairwise(new):
                counts[come] += weights[number]
                where[come].add(number)
                changed.add(come)
            pieces[number] = new
        for one in changed:
            if counts[one] > 0:
                heapq.heappush(heap, (-counts[one], Greatest(one)))
    return vocab, merges
