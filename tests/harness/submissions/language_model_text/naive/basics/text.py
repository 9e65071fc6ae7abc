from collections import Counter

import regex as re

PAT = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""


def train_bpe(input_path, vocab_size, special_tokens):
    vocab = {i: bytes([i]) for i in range(256)}
    for tok in special_tokens:
        vocab[len(vocab)] = tok.encode("utf-8")

    with open(input_path, encoding="utf-8") as f:
        text = f.read()

    if special_tokens:
        chunks = re.split("|".join(re.escape(t) for t in special_tokens), text)
    else:
        chunks = [text]

    words = []
    for chunk in chunks:
        for match in re.finditer(PAT, chunk):
            words.append([bytes([b]) for b in match.group().encode("utf-8")])

    merges = []
    while len(vocab) < vocab_size:
        counts = Counter()
        for word in words:
            for pair in zip(word, word[1:]):
                counts[pair] += 1
        if not counts:
            break
        best = max(counts.items(), key=lambda item: (item[1], item[0]))[0]
        merges.append(best)
        new = best[0] + best[1]
        vocab[len(vocab)] = new
        for word in words:
            i = 0
            while i < len(word) - 1:
                if word[i] == best[0] and word[i + 1] == best[1]:
                    word[i : i + 2] = [new]
                i += 1
    return vocab, merges


class Tokenizer:
    def __init__(self, vocab, merges, special_tokens=None):
        self.vocab = vocab
        self.merges = merges
        self.special_tokens = sorted(special_tokens or [], key=len, reverse=True)
        values = set(vocab.values())
        for tok in self.special_tokens:
            if tok.encode("utf-8") not in values:
                self.vocab[len(self.vocab)] = tok.encode("utf-8")
        self.inverse = {v: k for k, v in self.vocab.items()}

    def encode(self, text):
        if self.special_tokens:
            pattern = "(" + "|".join(re.escape(t) for t in self.special_tokens) + ")"
            parts = re.split(pattern, text)
        else:
            parts = [text]
        ids = []
        for part in parts:
            if part in self.special_tokens:
                ids.append(self.inverse[part.encode("utf-8")])
                continue
            for word in re.findall(PAT, part):
                tokens = [bytes([b]) for b in word.encode("utf-8")]
                for a, b in self.merges:
                    i = 0
                    while i < len(tokens) - 1:
                        if tokens[i] == a and tokens[i + 1] == b:
                            tokens[i : i + 2] = [a + b]
                        i += 1
                ids.extend(self.inverse[t] for t in tokens)
        return ids

    def encode_iterable(self, iterable):
        for line in iterable:
            for token in self.encode(line):
                yield token

    def decode(self, ids):
        return b"".join(self.vocab[i] for i in ids).decode("utf-8", errors="replace")
