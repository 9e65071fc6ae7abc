from collections.abc import Iterable, Iterator
from functools import lru_cache

from .words import words


class BPE:
    def __init__(self, vocab, merges, special_tokens=None):
        self.token_of = dict(vocab)
        known = set(self.token_of.values())
        self.special = list(special_tokens or ())
        for special in self.special:
            if special.encode() not in known:
                self.token_of[max(self.token_of) + 1] = special.encode()
        self.id_of = {token: number for number, token in self.token_of.items()}
        self.rank = {pair: rank for rank, pair in enumerate(merges)}
        self.word_ids = lru_cache(maxsize=10_000)(self._word_ids)

    def _parts(self, text: str):
        while text:
            found = [(text.find(s), -len(s), s) for s in self.special if s in text]
            if not found:
                yield text, None
                return
            place, _, special = min(found)
            yield text[:place], special
            text = text[place + len(special) :]

    def _word_ids(self, word: str) -> tuple[int, ...]:
        tokens = [bytes([byte]) for byte in word.encode()]
        while len(tokens) > 1:
            ranked = [
                (self.rank.get(pair, float("inf")), place)
                for place, pair in enumerate(zip(tokens, tokens[1:], strict=False))
            ]
            rank, place = min(ranked)
            if rank == float("inf"):
                break
            tokens[place : place + 2] = [tokens[place] + tokens[place + 1]]
        return tuple(self.id_of[token] for token in tokens)

    def encode(self, text: str) -> list[int]:
        return list(self.encode_iterable([text]))

    def encode_iterable(self, iterable: Iterable[str]) -> Iterator[int]:
        for text in iterable:
            for part, special in self._parts(text):
                for word in words(part):
                    yield from self.word_ids(word)
                if special is not None:
                    yield self.id_of[special.encode()]

    def decode(self, ids: list[int]) -> str:
        data = bytearray()
        for number in ids:
            data += self.token_of[number]
        return data.decode("utf-8", "replace")
