"""Mistakes in the tokenizer's training."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..pretokens import cut_at, longest_first
from ..pretokens import words as words_of
from ..tokenizer import Pair
from ..tokenizer_training import Counts, Training, Word
from . import tokenizer_counts as counts
from .mistake import Mistake, Replacing
from .words import with_letters_of_ascii, with_underscores, with_word_characters


def _first_seen(_training: Training, pairs: Counter[Pair]) -> Pair:
    return max(pairs, key=pairs.__getitem__)


def _smallest(_training: Training, pairs: Counter[Pair]) -> Pair:
    return min(pairs, key=lambda pair: (-pairs[pair], pair))


def _greatest_joined(_training: Training, pairs: Counter[Pair]) -> Pair:
    return max(pairs, key=lambda pair: (pairs[pair], b"".join(pair)))


def _longest(_training: Training, pairs: Counter[Pair]) -> Pair:
    return max(pairs, key=lambda pair: (pairs[pair], len(b"".join(pair)), pair))


def _greatest_ids(_training: Training, pairs: Counter[Pair]) -> Pair:
    return max(pairs, key=lambda pair: (pairs[pair], *(pairs.ids[token] for token in pair)))


def _shorter_first(_training: Training, pairs: Counter[Pair]) -> Pair:
    def order(pair: Pair) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(-byte for byte in token) for token in pair)

    return min(pairs, key=lambda pair: (-pairs[pair], order(pair)))


def _greatest_text(errors: str) -> Callable[[Training, Counter[Pair]], Pair]:
    def best(_training: Training, pairs: Counter[Pair]) -> Pair:
        def order(pair: Pair) -> tuple[int, str, str]:
            first, second = (token.decode(errors=errors) for token in pair)
            return pairs[pair], first, second

        return max(pairs, key=order)

    return best


def _rarest(_training: Training, pairs: Counter[Pair]) -> Pair:
    return min(pairs, key=lambda pair: (pairs[pair], pair))


def _specials_as_text(_training: Training, text: str, _special_tokens: list[str]) -> Iterable[str]:
    return words_of(text)


def _specials_taken_out(_training: Training, text: str, special_tokens: list[str]) -> Iterable[str]:
    parts = cut_at(text, longest_first(special_tokens))
    return words_of("".join(part for part, special in parts if not special))


def _specials_cut(_training: Training, text: str, special_tokens: list[str]) -> Iterable[str]:
    for part, _ in cut_at(text, longest_first(special_tokens)):
        yield from words_of(part)


def _specials_whole(_training: Training, text: str, special_tokens: list[str]) -> Iterable[str]:
    for part, special in cut_at(text, longest_first(special_tokens)):
        yield from [part] if special else words_of(part)


def _unescaped(_training: Training, text: str, special_tokens: list[str]) -> Iterable[str]:
    for part in re.split("|".join(special_tokens) or "$^", text):
        yield from words_of(part)


def _joined(_training: Training, text: str, special_tokens: list[str]) -> Iterable[str]:
    for part in re.split(re.escape("".join(special_tokens)) or "$^", text):
        yield from words_of(part)


def _no_words(_training: Training, text: str, special_tokens: list[str]) -> Iterable[str]:
    parts = cut_at(text, longest_first(special_tokens))
    return (part for part, special in parts if not special)


def _characters_without_specials(
    training: Training, text: str, special_tokens: list[str]
) -> Iterable[str]:
    return Training.words(training, text, special_tokens) if special_tokens else text


def _no_words_without_specials(
    training: Training, text: str, special_tokens: list[str]
) -> Iterable[str]:
    return Training.words(training, text, special_tokens) if special_tokens else [text]


def _cut_by(cut: Callable[[str], Iterable[str]]) -> Callable[..., Iterable[str]]:
    def words(training: Training, text: str, special_tokens: list[str]) -> Iterable[str]:
        for part in _no_words(training, text, special_tokens):
            yield from cut(part)

    return words


def _at_borders(text: str) -> list[str]:
    return re.findall(r"\s+|\S+", text)


def _line_by_line(text: str) -> Iterable[str]:
    for line in text.splitlines(keepends=True):
        yield from words_of(line)


def _each_once(training: Training, text: str, special_tokens: list[str]) -> Iterable[str]:
    return list(dict.fromkeys(Training.words(training, text, special_tokens)))


def _characters(_training: Training, word: str) -> Word:
    return tuple(character.encode() for character in word)


def _specials_beyond(_training: Training, vocab_size: int, _special_tokens: list[str]) -> int:
    return vocab_size - 256


def _bytes_beyond(_training: Training, vocab_size: int, _special_tokens: list[str]) -> int:
    return vocab_size


def _one_too_few(_training: Training, vocab_size: int, special_tokens: list[str]) -> int:
    return vocab_size - 256 - len(special_tokens) - 1


def _trained(**replaced: Any) -> Training:
    """Returns the training with some of its methods replaced."""
    return type("Training", (Training,), dict(replaced))()


def _with_ids_otherwise(**replaced: Any) -> Training:
    return _trained(specials_first=False, **replaced)


def _mistake(
    id: str, explanation: str, hint: str, *ways: Mapping[str, Any], common: bool = False
) -> Mistake:
    variants = tuple(
        Replacing(make, way) for make in (_trained, _with_ids_otherwise) for way in ways
    )
    return Mistake(id, explanation, hint, {"run_train_bpe": variants}, common=common)


MISTAKES = (
    _mistake(
        "bpe-ties-first-seen",
        "Among equally frequent pairs you merge the one that was counted first; the "
        "lexicographically greatest is asked for.",
        "Which one does `max` return, if several have the largest count?",
        dict(best=_first_seen),
        dict(best=_first_seen, counts=counts.Recounted),
    ),
    _mistake(
        "bpe-ties-smallest",
        "Among equally frequent pairs you merge the lexicographically smallest; the greatest is "
        "asked for.",
        "Which of (b'a', b'b') and (b'a', b'c') is the greater one?",
        dict(best=_smallest),
        common=True,
    ),
    _mistake(
        "bpe-ties-by-joined-bytes",
        "Among equally frequent pairs you compare something other than the pairs.",
        "Which of (b'ab', b'c') and (b'a', b'bd') is the greater one, as tuples in Python?",
        dict(best=_greatest_joined),
        dict(best=_longest),
    ),
    _mistake(
        "bpe-ties-by-ids",
        "Among equally frequent pairs you compare the ids of the tokens, but their bytes decide.",
        "Which of b'z' and the merged b'ab' is the greater one, and which has the larger id?",
        dict(best=_greatest_ids, counts=counts.Numbered),
    ),
    _mistake(
        "bpe-ties-by-text",
        "Among equally frequent pairs you compare the tokens as texts, but their bytes decide.",
        r"Which text does `b'\xc3'.decode('utf-8', 'replace')` give, and which does `b'\xd0'`?",
        *(
            dict(best=_greatest_text(errors), counts=of)
            for errors in ("replace", "ignore")
            for of in (Counts, counts.Recounted)
        ),
    ),
    _mistake(
        "bpe-ties-shorter-first",
        "Among equally frequent pairs you take a token for greater than a longer one that begins "
        "with it.",
        "Which of b'a' and b'ab' is the greater one, and which is it in your order?",
        dict(best=_shorter_first),
    ),
    _mistake(
        "bpe-rarest",
        "You merge the pair that is rarest.",
        "Which end of the sorted counts do you take?",
        dict(best=_rarest),
    ),
    _mistake(
        "bpe-specials-counted",
        "Your special tokens are counted like any other text, so that merges are learnt of them.",
        "Where do the special tokens go before words are looked for?",
        dict(words=_specials_as_text),
        dict(words=_specials_cut),
        dict(words=_specials_whole),
    ),
    _mistake(
        "bpe-merges-across-specials",
        "Your text is joined where a special token was taken out of it.",
        "Which text may stand before a special token, and which behind it?",
        dict(words=_specials_taken_out),
    ),
    _mistake(
        "bpe-specials-unescaped",
        "In your pattern the characters of special tokens mean something else: `|` is an "
        "alternative there.",
        "Which function of `re` makes a pattern of a text that matches this text and nothing else?",
        dict(words=_unescaped),
    ),
    _mistake(
        "bpe-specials-joined",
        "Your pattern has several special tokens one behind another: alone, none of them is found.",
        "Which character stands between the alternatives of a regular expression?",
        dict(words=_joined),
    ),
    _mistake(
        "bpe-across-words",
        "Your merges go across the borders of words.",
        "Which step comes before the pairs of a text are counted?",
        dict(words=_no_words),
    ),
    _mistake(
        "bpe-uncut-without-specials",
        "Without special tokens your text is not cut into words.",
        "Which lines of your training run if there are no special tokens?",
        dict(words=_no_words_without_specials),
    ),
    _mistake(
        "bpe-cut-at-nothing",
        "Without special tokens your text is cut at every character: your pattern is empty then.",
        "Where does `re.split` cut a text if its pattern is an empty one?",
        dict(words=_characters_without_specials),
        common=True,
    ),
    _mistake(
        "bpe-words-at-spaces",
        "Your text is cut into words at its spaces instead of by the pattern.",
        "Which words does the pattern find in `it's 12:30`, and which of them has the space?",
        dict(words=_cut_by(str.split)),
        dict(words=_cut_by(_at_borders)),
    ),
    _mistake(
        "bpe-words-of-word-characters",
        r"Your words take an underscore for a letter, as `\w` does.",
        r"Which words does the pattern find in `x_2`, and which of the three characters is `\w`?",
        dict(words=_cut_by(with_word_characters)),
        dict(words=_cut_by(with_underscores)),
    ),
    _mistake(
        "bpe-words-of-ascii",
        "Your pattern takes no letter beyond ASCII for a letter, as when it is matched on bytes.",
        "Which words does your pattern find in `café`, in the text and in its bytes?",
        dict(words=_cut_by(with_letters_of_ascii)),
    ),
    _mistake(
        "bpe-cut-at-lines",
        "Your text is cut at the ends of its lines, though a word of white space may go on there.",
        "Which words are there in a text with two blank lines in a row?",
        dict(words=_cut_by(_line_by_line)),
    ),
    _mistake(
        "bpe-words-counted-once",
        "Your pairs are counted in every word once, however often the text has the word.",
        "By how much does a word that stands there ten times raise the counts of its pairs?",
        dict(words=_each_once),
    ),
    _mistake(
        "bpe-not-utf8",
        "Your training begins with characters, but it should begin with the bytes of UTF-8.",
        "How many bytes has an é, and how many merges does it take to make one token of them?",
        dict(first_tokens=_characters),
    ),
    _mistake(
        "bpe-vocabulary-size",
        "Your vocabulary does not have the size that is asked for.",
        "Which entries does the vocabulary have before the first merge, and how many are they?",
        dict(merges_wanted=_specials_beyond),
        dict(merges_wanted=_bytes_beyond),
        dict(merges_wanted=_one_too_few),
    ),
    _mistake(
        "bpe-counts-stale",
        "Your counts are those of the text's bytes: after a merge they are not brought up to date.",
        "Which pairs are there after a merge that were not there before, and which are rarer?",
        dict(counts=counts.Stale),
        dict(counts=counts.SingleBytesOnly),
    ),
    _mistake(
        "bpe-new-pairs-not-merged",
        "Pairs with a merged token are counted and chosen, but not merged in the words.",
        "After a merge, which words have the new pairs, and does your list of words say so?",
        dict(counts=counts.WithoutNewPlaces),
    ),
    _mistake(
        "bpe-merged-once-a-word",
        "A pair that stands in a word twice is merged there once.",
        "How often does (b'a', b'n') still occur in `banana` after it is merged?",
        dict(counts=counts.RecountedOnce),
        dict(counts=counts.CountedOnce),
        dict(counts=counts.ForgottenOnce),
    ),
    _mistake(
        "bpe-counts-side-by-side",
        "Your counts are wrong where two merges stand side by side, as a + a does twice in `aaaa`.",
        "Once a + b is merged twice in `abab`, which pair is there, and which pairs are gone?",
        *(
            dict(counts=type(one.__name__, (one,), settings))
            for settings in ({"keeps": True}, {}, {"drops": True}, {"ends": True})
            for one in (
                counts.Corrected,
                counts.CorrectedAtAll,
                counts.CorrectedAfterwards,
                counts.CorrectedApart,
            )
        ),
        common=True,
    ),
    _mistake(
        "bpe-stops-at-single-pairs",
        "Your training stops where the most frequent pair stands only once; it ends where no pair "
        "is left.",
        "Does your loop still merge a pair that is counted once?",
        dict(counts=counts.Frequent),
    ),
    _mistake(
        "bpe-merges-without-pairs",
        "Where no pair is left to merge, your training goes on: it merges pairs that the text no "
        "longer has.",
        "Which counts are there when every word is one token, and does your loop look at them?",
        *(
            dict(counts=type(counts.Kept.__name__, (counts.Kept,), settings))
            for settings in ({}, {"drops_merged": True})
        ),
        common=True,
    ),
)
