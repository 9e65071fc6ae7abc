"""Byte-pair encoding, trained with counts of pairs that are kept up to date."""

import re
import unicodedata
from collections import Counter, defaultdict

# GPT-2's pattern, over the kinds of characters: a letter, a numeral, white space, or another.
PATTERN = re.compile(r"_?L+|_?N+|_?O+|[S_]+(?![LNO])|[S_]+")
CONTRACTIONS = ("'s", "'d", "'m", "'t", "'ll", "'ve", "'re")


def kind(character):
    if character == " ":
        return "_"
    if character.isspace():
        return "S"
    category = unicodedata.category(character)[0]
    return category if category in "LN" else "O"


def pretokenize(text):
    kinds = "".join(map(kind, text))
    place = 0
    while place < len(text):
        short = next((one for one in CONTRACTIONS if text.startswith(one, place)), None)
        end = place + len(short) if short else PATTERN.match(kinds, place).end()
        yield text[place:end]
        place = end


def split_special(text, special_tokens):
    if not special_tokens:
        return [text]
    ordered = sorted(special_tokens, key=len, reverse=True)
    return re.split("(" + "|".join(map(re.escape, ordered)) + ")", text)


def merge_pair(tokens, pair):
    merged, i = [], 0
    while i < len(tokens):
        if i + 1 < len(tokens) and (tokens[i], tokens[i + 1]) == pair:
            merged.append(tokens[i] + tokens[i + 1])
            i += 2
        else:
            merged.append(tokens[i])
            i += 1
    return merged


def train_bpe(input_path, vocab_size, special_tokens):
    with open(input_path, encoding="utf-8") as file:
        text = file.read()
    frequencies = Counter(
        word
        for part in split_special(text, special_tokens)
        if part not in special_tokens
        for word in pretokenize(part)
    )
    words = [[bytes([b]) for b in word.encode("utf-8")] for word in frequencies]
    counts = list(frequencies.values())
    pairs, places = Counter(), defaultdict(set)
    for index, word in enumerate(words):
        for pair in zip(word, word[1:], strict=False):
            pairs[pair] += counts[index]
            places[pair].add(index)

    vocab = {i: token.encode("utf-8") for i, token in enumerate(special_tokens)}
    for byte in range(256):
        vocab[len(vocab)] = bytes([byte])
    merges = []
    while len(vocab) < vocab_size and pairs:
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        for index in places.pop(best):
            old = words[index]
            for pair in zip(old, old[1:], strict=False):
                pairs[pair] -= counts[index]
                if pairs[pair] <= 0:
                    del pairs[pair]
            words[index] = merge_pair(old, best)
            for pair in zip(words[index], words[index][1:], strict=False):
                pairs[pair] += counts[index]
                places[pair].add(index)
        merges.append(best)
        vocab[len(vocab)] = best[0] + best[1]
    return vocab, merges


class Tokenizer:
    def __init__(self, vocab, merges, special_tokens=None):
        self.vocab = dict(vocab)
        self.special_tokens = list(special_tokens or [])
        for token in self.special_tokens:
            if token.encode("utf-8") not in self.vocab.values():
                self.vocab[len(self.vocab)] = token.encode("utf-8")
        self.ids = {token: i for i, token in self.vocab.items()}
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.cache = {}

    def _encode_word(self, word):
        if word not in self.cache:
            tokens = [bytes([b]) for b in word.encode("utf-8")]
            while len(tokens) > 1:
                pairs = set(zip(tokens, tokens[1:], strict=False))
                best = min(pairs, key=lambda pair: self.ranks.get(pair, float("inf")))
                if best not in self.ranks:
                    break
                tokens = merge_pair(tokens, best)
            self.cache[word] = [self.ids[token] for token in tokens]
        return self.cache[word]

    def encode(self, text):
        ids = []
        for part in split_special(text, self.special_tokens):
            if part in self.special_tokens:
                ids.append(self.ids[part.encode("utf-8")])
            else:
                for word in pretokenize(part):
                    ids.extend(self._encode_word(word))
        return ids

    def encode_iterable(self, iterable):
        for text in iterable:
            yield from self.encode(text)

    def decode(self, ids):
        return b"".join(self.vocab[i] for i in ids).decode("utf-8", errors="replace")
