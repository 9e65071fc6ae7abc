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


def train(path, vocab_size, special):
    counts = Counter()
    with open(path, encoding="utf-8", newline="") as file:
        for part in documents(file.read(), special):
            if part not in special:
                counts.update(WORD.findall(part))
    words = {word: [bytes((byte,)) for byte in word.encode()] for word in counts}
    tokens = [*(one.encode() for one in special), *(bytes((byte,)) for byte in range(256))]
    merges = []
    for _ in range(vocab_size - len(tokens)):
        pairs = Counter()
        for word, parts in words.items():
            for pair in zip(parts, parts[1:], strict=False):
                pairs[pair] += counts[word]
        if not pairs:
            break
        most = max(pairs.values())
        pair = max(pair for pair, number in pairs.items() if number == most)
        merges.append(pair)
        for parts in words.values():
            place = 0
            while place < len(parts) - 1:
                if parts[place] == pair[0] and parts[place + 1] == pair[1]:
                    parts[place : place + 2] = [pair[0] + pair[1]]
                place += 1
    return dict(enumerate(tokens + [left + right for left, right in merges])), merges
