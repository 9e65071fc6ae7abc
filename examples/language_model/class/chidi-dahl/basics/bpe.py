"""Byte-pair encoding over token ids, with words kept as lists of ids."""

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator

try:
    import regex

    GPT2 = regex.compile(
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    )
except ImportError:
    GPT2 = None


def _letter(character: str) -> bool:
    return unicodedata.category(character).startswith("L")


def _number(character: str) -> bool:
    return unicodedata.category(character).startswith("N")


def _other(character: str) -> bool:
    return not (character.isspace() or _letter(character) or _number(character))


def _run(text: str, start: int, belongs) -> int:
    while start < len(text) and belongs(text[start]):
        start += 1
    return start


def _end_of_word(text: str, start: int) -> int:
    short = re.compile(r"'(?:[sdmt]|ll|ve|re)").match(text, start)
    if short:
        return short.end()
    after_space = start + (text[start] == " ")
    for belongs in (_letter, _number, _other):
        end = _run(text, after_space, belongs)
        if end > after_space:
            return end
    end = _run(text, start, str.isspace)
    return end - 1 if end < len(text) and end - start > 1 else end


def words(text: str) -> Iterator[str]:
    if GPT2 is not None:
        yield from (match.group() for match in GPT2.finditer(text))
        return
    start = 0
    while start < len(text):
        end = _end_of_word(text, start)
        yield text[start:end]
        start = end


def chunks(text: str, special: list[str]) -> list[str]:
    if not special:
        return [text]
    longest_first = sorted(special, key=lambda token: -len(token))
    return re.split(f"({'|'.join(re.escape(token) for token in longest_first)})", text)


def replace(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    out = []
    for token in ids:
        if out and (out[-1], token) == pair:
            out[-1] = -new - 1
        else:
            out.append(token)
    return [-token - 1 if token < 0 else token for token in out]


def train(input_path: str | os.PathLike, vocab_size: int, special: list[str]):
    with open(input_path, "rb") as file:
        text = file.read().decode("utf-8")
    vocab = {i: bytes([i]) for i in range(256)}
    for token in special:
        vocab[len(vocab)] = token.encode()
    frequency: dict[str, int] = defaultdict(int)
    for chunk in chunks(text, special):
        if chunk not in special:
            for word in words(chunk):
                frequency[word] += 1
    corpus = [(list(word.encode()), count) for word, count in frequency.items()]
    counts: dict[tuple[int, int], int] = defaultdict(int)
    found_in: dict[tuple[int, int], set[int]] = defaultdict(set)
    for index, (ids, count) in enumerate(corpus):
        for i in range(len(ids) - 1):
            counts[ids[i], ids[i + 1]] += count
            found_in[ids[i], ids[i + 1]].add(index)
    merges = []
    for new in range(len(vocab), vocab_size):
        top = max(counts.values(), default=0)
        if top == 0:
            break
        tied = [pair for pair in counts if counts[pair] == top]
        pair = max(tied, key=lambda pair: (vocab[pair[0]], vocab[pair[1]]))
        merges.append((vocab[pair[0]], vocab[pair[1]]))
        vocab[new] = vocab[pair[0]] + vocab[pair[1]]
        for index in found_in[pair]:
            ids, count = corpus[index]
            merged = replace(ids, pair, new)
            for i in range(len(ids) - 1):
                counts[ids[i], ids[i + 1]] -= count
            for i in range(len(merged) - 1):
                counts[merged[i], merged[i + 1]] += count
                found_in[merged[i], merged[i + 1]].add(index)
            corpus[index] = merged, count
    return vocab, merges


class Tokenizer:
    def __init__(self, vocab, merges, special_tokens=None):
        self.vocab = dict(vocab)
        self.special = list(special_tokens or ())
        known = set(self.vocab.values())
        for token in self.special:
            if token.encode() not in known:
                self.vocab[max(self.vocab) + 1] = token.encode()
        self.id_of = {token: i for i, token in self.vocab.items()}
        self.rank = {}
        for rank, (left, right) in enumerate(merges):
            self.rank[self.id_of[left], self.id_of[right]] = rank, self.id_of[left + right]

    def _word(self, word: str) -> list[int]:
        ids = [self.id_of[bytes([byte])] for byte in word.encode()]
        while True:
            ranked = [
                (*self.rank[pair], pair)
                for pair in zip(ids, ids[1:], strict=False)
                if pair in self.rank
            ]
            if not ranked:
                return ids
            _, new, pair = min(ranked)
            ids = replace(ids, pair, new)

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        for chunk in chunks(text, self.special):
            if chunk in self.special:
                ids += [self.id_of[chunk.encode()]]
            else:
                ids += [token for word in words(chunk) for token in self._word(word)]
        return ids

    def encode_iterable(self, iterable: Iterable[str]) -> Iterator[int]:
        for line in iterable:
            for token in self.encode(line):
                yield token

    def decode(self, ids: list[int]) -> str:
        return bytes().join(self.vocab[i] for i in ids).decode("utf-8", "replace")
