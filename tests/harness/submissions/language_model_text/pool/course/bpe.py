from __future__ import annotations

import multiprocessing
import os
from collections import Counter, defaultdict
from typing import BinaryIO

import regex as re
from tqdm import tqdm

PAT = re.compile(r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""")


def boundaries_at(file: BinaryIO, wanted: int, marker: bytes) -> list[int]:
    """Where a file may be cut: before a marker each."""
    file.seek(0, os.SEEK_END)
    size = file.tell()
    guesses = [size * n // wanted for n in range(wanted)] + [size]
    for number in range(1, wanted):
        place = guesses[number]
        file.seek(place)
        while True:
            block = file.read(256)
            if not block:
                guesses[number] = size
                break
            found = block.find(marker)
            if found >= 0:
                guesses[number] = place + found
                break
            place += len(block)
    return sorted(set(guesses))


def count_chunk(job):
    path, start, end, special_tokens = job
    with open(path, "rb") as file:
        file.seek(start)
        text = file.read(end - start).decode("utf-8", errors="ignore")
    counts = Counter()
    parts = re.split("|".join(map(re.escape, special_tokens)), text) if special_tokens else [text]
    for part in parts:
        for match in PAT.finditer(part):
            counts[match.group().encode("utf-8")] += 1
    return counts


def train_bpe(input_path, vocab_size, special_tokens, num_processes=4):
    if special_tokens:
        with open(input_path, "rb") as file:
            places = boundaries_at(file, num_processes, special_tokens[0].encode())
    else:
        places = [0, os.path.getsize(input_path)]
    jobs = [(input_path, a, b, special_tokens) for a, b in zip(places, places[1:])]
    with multiprocessing.Pool(processes=num_processes) as pool:
        results = pool.map(count_chunk, jobs)
    total = Counter()
    for one in results:
        total.update(one)

    vocab = {i: bytes([i]) for i in range(256)}
    for special in special_tokens:
        vocab[len(vocab)] = special.encode("utf-8")
    merges = []
    words = {word: [bytes([b]) for b in word] for word in total}
    pair_counts = defaultdict(int)
    pair_words = defaultdict(set)
    for word, tokens in words.items():
        for pair in zip(tokens, tokens[1:]):
            pair_counts[pair] += total[word]
            pair_words[pair].add(word)

    for _ in tqdm(range(vocab_size - len(vocab)), desc="merges", disable=True):
        if not pair_counts:
            break
        best = max(pair_counts, key=lambda p: (pair_counts[p], p))
        merged = best[0] + best[1]
        merges.append(best)
        vocab[len(vocab)] = merged
        for word in list(pair_words[best]):
            tokens = words[word]
            for pair in zip(tokens, tokens[1:]):
                pair_counts[pair] -= total[word]
                pair_words[pair].discard(word)
                if pair_counts[pair] <= 0:
                    del pair_counts[pair]
            out = []
            i = 0
            while i < len(tokens):
                if i < len(tokens) - 1 and tokens[i] == best[0] and tokens[i + 1] == best[1]:
                    out.append(merged)
                    i += 2
                else:
                    out.append(tokens[i])
                    i += 1
            words[word] = out
            for pair in zip(out, out[1:]):
                pair_counts[pair] += total[word]
                pair_words[pair].add(word)
    return vocab, merges


class BPETokenizer:
    def __init__(self, vocab, merges, special_tokens=None):
        self.vocab = {int(k): v for k, v in vocab.items()}
        self.bytes_to_id = {v: k for k, v in self.vocab.items()}
        self.special_tokens = special_tokens
        if special_tokens:
            for token in special_tokens:
                encoded = token.encode("utf-8")
                if encoded not in self.bytes_to_id:
                    self.bytes_to_id[encoded] = len(self.vocab)
                    self.vocab[len(self.vocab)] = encoded
            ordered = sorted(special_tokens, key=lambda t: -len(t))
            self.special_re = re.compile("|".join(map(re.escape, ordered)))
        self.ranks = dict(zip(merges, range(len(merges))))
        self.cache = {}

    def _bpe(self, word: bytes):
        if word in self.cache:
            return self.cache[word]
        parts = [bytes([b]) for b in word]
        while True:
            best = min(zip(parts, parts[1:]), key=lambda p: self.ranks.get(p, 1 << 60), default=None)
            if best is None or best not in self.ranks:
                break
            i = 0
            while i < len(parts) - 1:
                if (parts[i], parts[i + 1]) == best:
                    parts = parts[:i] + [parts[i] + parts[i + 1]] + parts[i + 2 :]
                i += 1
        self.cache[word] = [self.bytes_to_id[p] for p in parts]
        return self.cache[word]

    def _ordinary(self, text):
        return [i for m in PAT.finditer(text) for i in self._bpe(m.group().encode("utf-8"))]

    def encode(self, text: str) -> list[int]:
        if not self.special_tokens:
            return self._ordinary(text)
        ids, last = [], 0
        for match in self.special_re.finditer(text):
            ids += self._ordinary(text[last : match.start()])
            ids.append(self.bytes_to_id[match.group().encode("utf-8")])
            last = match.end()
        return ids + self._ordinary(text[last:])

    def encode_iterable(self, iterable):
        for chunk in iterable:
            yield from self.encode(chunk)

    def decode(self, ids):
        return b"".join(map(self.vocab.__getitem__, ids)).decode("utf-8", errors="replace")
