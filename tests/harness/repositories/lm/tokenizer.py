import multiprocessing
import re
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

PATTERN = re.compile(r"'(?:[sdmt]|ll|ve|re)| ?\w+| ?[^\s\w]+|\s+(?!\S)|\s+")


def count_words(text):
    return Counter(tuple(bytes([b]) for b in word.encode()) for word in PATTERN.findall(text))


def parts(text, many):
    size = max(1, len(text) // many)
    return [text[at : at + size] for at in range(0, len(text), size)]


def train(text, vocab_size, special_tokens=(), workers=32):
    with multiprocessing.Pool(workers) as pool:
        words = sum(pool.map(count_words, parts(text, workers)), Counter())
    with ProcessPoolExecutor(max_workers=workers) as executor:
        again = sum(executor.map(count_words, parts(text, workers)), Counter())
    assert again == words
    vocab = {number: bytes([number]) for number in range(256)}
    for token in special_tokens:
        vocab[len(vocab)] = token.encode()
    merges = []
    while len(vocab) < vocab_size:
        pairs = Counter()
        for word, many in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += many
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        vocab[len(vocab)] = best[0] + best[1]
        words = Counter({merged(word, best): many for word, many in words.items()})
    return vocab, merges


def merged(word, pair):
    done, at = [], 0
    while at < len(word):
        step = 2 if word[at : at + 2] == pair else 1
        done.append(b"".join(word[at : at + step]))
        at += step
    return tuple(done)
