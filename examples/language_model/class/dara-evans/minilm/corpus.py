import heapq
import re
from collections import Counter

NUMERALS = "".join(chr(i) for i in range(0x110000) if chr(i).isnumeric() and not chr(i).isalpha())
LETTERS = rf"[^\W_{re.escape(NUMERALS)}]"
NUMERAL = f"[{re.escape(NUMERALS)}]"
WORD = re.compile(
    rf"'s|'d|'m|'t|'ll|'ve|'re| ?{LETTERS}+| ?{NUMERAL}+"
    rf"| ?(?:(?!{LETTERS}|{NUMERAL})\S)+|\s+(?!\S)|\s+"
)


def documents(text, special):
    if special:
        special = sorted(special, key=len, reverse=True)
        return re.split("(" + "|".join(re.escape(one) for one in special) + ")", text)
    return [text]


class Tokenizer:
    def __init__(self, vocab, merges, special_tokens=None):
        self.special = special_tokens or []
        self.token = {**vocab}
        self.number = {token: number for number, token in vocab.items()}
        for one in self.special:
            if one.encode() not in self.number:
                free = max(self.token) + 1
                self.token[free], self.number[one.encode()] = one.encode(), free
        self.rank = {pair: place for place, pair in enumerate(merges)}

    def merge(self, word):
        """Merges by a heap of the ranks of neighbours, over a linked list."""
        tokens = [bytes((byte,)) for byte in word.encode()]
        after = [*range(1, len(tokens)), None]
        before = [None, *range(len(tokens) - 1)]
        heap = []

        def look(left):
            right = after[left]
            pair = None if right is None else (tokens[left], tokens[right])
            if pair in self.rank:
                heapq.heappush(heap, (self.rank[pair], left, pair))

        for left in range(len(tokens)):
            look(left)
        while heap:
            _, left, pair = heapq.heappop(heap)
            right = after[left]
            if tokens[left] is None or right is None or (tokens[left], tokens[right]) != pair:
                continue
            tokens[left], tokens[right] = pair[0] + pair[1], None
            after[left] = after[right]
            if after[left] is not None:
                before[after[left]] = left
            look(left)
            if before[left] is not None:
                look(before[left])
        return [self.number[token] for token in tokens if token is not None]

    def encode_iterable(self, iterable):
        for piece in iterable:
            for part in documents(piece, self.special):
                if part in self.special:
                    yield self.number[part.encode()]
                else:
                    for word in WORD.findall(part):
                        yield from self.merge(word)

    def encode(self, text):
        return list(self.encode_iterable([text]))

    def decode(self, ids):
        raw = bytearray()
        for number in ids:
            raw += self.token[number]
        return raw.decode("utf-8", errors="replace")


class Greatest:
    """A pair in a heap, of which the most frequent comes out first, and of those the greatest."""

    def __init__(self, number, pair):
        self.number, self.pair = number, pair

    def __lt__(self, other):
        return (self.number, self.pair) > (other.number, other.pair)


class Words:
    """All different words in one list of tokens, each of which knows its neighbours."""

    def __init__(self, counts):
        self.token, self.weight, self.before, self.after = [], [], [], []
        self.pairs, self.places, self.heap = Counter(), {}, []
        for word, count in counts.items():
            first, size = len(self.token), len(word.encode())
            self.token += [bytes((byte,)) for byte in word.encode()]
            self.weight += [count] * size
            self.before += [None, *range(first, first + size - 1)]
            self.after += [*range(first + 1, first + size), None]
        for left in range(len(self.token)):
            self.count(left, +1)
        self.heap = [Greatest(number, pair) for pair, number in self.pairs.items()]
        heapq.heapify(self.heap)

    def count(self, left, sign):
        """Adds the pair that begins at a place, or takes it away."""
        right = None if left is None else self.after[left]
        if right is not None:
            pair = self.token[left], self.token[right]
            self.pairs[pair] += sign * self.weight[left]
            self.places.setdefault(pair, set()).add(left)
            heapq.heappush(self.heap, Greatest(self.pairs[pair], pair))

    def most_frequent(self):
        while self.heap:
            best = heapq.heappop(self.heap)
            if 0 < best.number == self.pairs[best.pair]:
                return best.pair
        return None

    def merge(self, pair):
        for left in sorted(self.places.pop(pair)):
            right = self.after[left]
            if right is None or (self.token[left], self.token[right]) != pair:
                continue
            for place in (self.before[left], left, right):
                self.count(place, -1)
            self.token[left], self.token[right] = b"".join(pair), None
            self.after[left] = self.after[right]
            if self.after[right] is not None:
                self.before[self.after[right]] = left
            self.after[right] = None
            for place in (self.before[left], left):
                self.count(place, +1)


def train(path, vocab_size, special):
    counts = Counter()
    with open(path, encoding="utf-8", newline="") as file:
        for part in documents(file.read(), special):
            if part not in special:
                counts.update(WORD.findall(part))
    words = Words(counts)
    tokens = [*(one.encode() for one in special), *(bytes((byte,)) for byte in range(256))]
    merges = []
    for _ in range(vocab_size - len(tokens)):
        pair = words.most_frequent()
        if pair is None:
            break
        merges.append(pair)
        words.merge(pair)
    return dict(enumerate(tokens + [left + right for left, right in merges])), merges
