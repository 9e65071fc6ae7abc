"""Mistakes in the tokenizer."""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..pretokens import cut_at, words, words_pattern
from ..tokenizer import Tokenizer, merge
from .mistake import Mistake, Replacing
from .words import with_letters_of_ascii, with_underscores, with_word_characters


def _uncut(_tokenizer: Tokenizer, text: str) -> Iterator[tuple[str, bool]]:
    yield text, False


def _without_specials(tokenizer: Tokenizer, text: str) -> Iterator[tuple[str, bool]]:
    parts = cut_at(text, tokenizer.special_tokens)
    return ((part, False) for part, special in parts if not special)


def _specials_as_text(tokenizer: Tokenizer, text: str) -> Iterator[tuple[str, bool]]:
    parts = cut_at(text, tokenizer.special_tokens)
    return ((part, False) for part, _ in parts)


def _unescaped(tokenizer: Tokenizer, text: str) -> Iterator[tuple[str, bool]]:
    if not tokenizer.special_tokens:
        yield text, False
        return
    parts = re.split(f"({'|'.join(tokenizer.special_tokens)})", text)
    for part in filter(None, parts):
        yield part, part in tokenizer.special_tokens


def _joined(tokenizer: Tokenizer, text: str) -> Iterator[tuple[str, bool]]:
    together = "".join(tokenizer.special_tokens)
    for part, special in cut_at(text, [together] if together else []):
        yield part, special and part in tokenizer.special_tokens


def _one_pattern(tokenizer: Tokenizer, text: str) -> Iterator[tuple[str, bool]]:
    specials = map(re.escape, tokenizer.special_tokens)
    for part in re.findall("|".join([*specials, words_pattern().pattern]), text):
        yield part, part in tokenizer.special_tokens


def _at_nothing(tokenizer: Tokenizer, text: str) -> Iterator[tuple[str, bool]]:
    if tokenizer.special_tokens:
        return cut_at(text, tokenizer.special_tokens)
    return ((character, False) for character in text)


def _without_blanks(tokenizer: Tokenizer, text: str) -> Iterator[tuple[str, bool]]:
    return (one for one in cut_at(text, tokenizer.special_tokens) if one[0].strip())


def _stripped_parts(tokenizer: Tokenizer, text: str) -> Iterator[tuple[str, bool]]:
    return ((part.strip(), special) for part, special in cut_at(text, tokenizer.special_tokens))


def _shortest_first(_tokenizer: Tokenizer, special_tokens: list[str]) -> list[str]:
    return sorted(special_tokens, key=len)


def _as_given(_tokenizer: Tokenizer, special_tokens: list[str]) -> list[str]:
    return special_tokens


def _one_word(_tokenizer: Tokenizer, text: str) -> list[str]:
    return [text]


def _one_word_without_specials(tokenizer: Tokenizer, text: str) -> Sequence[str]:
    return words(text) if tokenizer.special_tokens else [text]


def _at_spaces(_tokenizer: Tokenizer, text: str) -> list[str]:
    return re.findall(r"\s+|\S+", text)


def _spaces_lost(_tokenizer: Tokenizer, text: str) -> list[str]:
    return text.split()


def _first_in_text(tokenizer: Tokenizer, tokens: list[bytes]) -> list[bytes]:
    while True:
        pairs = itertools.pairwise(tokens)
        known = next((pair for pair in pairs if pair in tokenizer.ranks), None)
        if known is None:
            return tokens
        tokens = merge(tokens, known)


def _from_the_right(tokenizer: Tokenizer, tokens: list[bytes]) -> list[bytes]:
    while True:
        known = [pair for pair in itertools.pairwise(tokens) if pair in tokenizer.ranks]
        if not known:
            return tokens
        left, right = min(known, key=tokenizer.ranks.__getitem__)
        mirrored = merge([token[::-1] for token in reversed(tokens)], (right[::-1], left[::-1]))
        tokens = [token[::-1] for token in reversed(mirrored)]


def _leftmost_alone(tokenizer: Tokenizer, tokens: list[bytes]) -> list[bytes]:
    while True:
        pairs = enumerate(itertools.pairwise(tokens))
        place = next((place for place, pair in pairs if pair in tokenizer.ranks), None)
        if place is None:
            return tokens
        tokens = [*tokens[:place], b"".join(tokens[place : place + 2]), *tokens[place + 2 :]]


def _last_learnt_first(tokenizer: Tokenizer, tokens: list[bytes]) -> list[bytes]:
    while True:
        known = [pair for pair in itertools.pairwise(tokens) if pair in tokenizer.ranks]
        if not known:
            return tokens
        tokens = merge(tokens, max(known, key=tokenizer.ranks.__getitem__))


def _longest_known(tokenizer: Tokenizer, tokens: list[bytes]) -> list[bytes]:
    word, found = b"".join(tokens), []
    while word:
        size = next(n for n in range(len(word), 0, -1) if n == 1 or word[:n] in tokenizer.ids)
        found.append(word[:size])
        word = word[size:]
    return found


def _first_never(tokenizer: Tokenizer, tokens: list[bytes]) -> list[bytes]:
    while True:
        known = [pair for pair in itertools.pairwise(tokens) if tokenizer.ranks.get(pair)]
        if not known:
            return tokens
        tokens = merge(tokens, min(known, key=tokenizer.ranks.__getitem__))


def _by_id(tokenizer: Tokenizer, tokens: list[bytes]) -> list[bytes]:
    while True:
        known = [pair for pair in itertools.pairwise(tokens) if pair in tokenizer.ranks]
        if not known:
            return tokens
        tokens = merge(tokens, min(known, key=lambda pair: tokenizer.ids[b"".join(pair)]))


def _by_id_of_any(tokenizer: Tokenizer, tokens: list[bytes]) -> list[bytes]:
    while True:
        known = [pair for pair in itertools.pairwise(tokens) if b"".join(pair) in tokenizer.ids]
        if not known:
            return tokens
        tokens = merge(tokens, min(known, key=lambda pair: tokenizer.ids[b"".join(pair)]))


def _each_once(tokenizer: Tokenizer, tokens: list[bytes]) -> list[bytes]:
    for pair in tokenizer.ranks:
        pairs = enumerate(itertools.pairwise(tokens))
        place = next((place for place, own in pairs if own == pair), None)
        if place is not None:
            tokens = [*tokens[:place], b"".join(pair), *tokens[place + 2 :]]
    return tokens


def _unmerged(_tokenizer: Tokenizer, tokens: list[bytes]) -> list[bytes]:
    return tokens


def _characters(_tokenizer: Tokenizer, word: str) -> list[bytes]:
    return [character.encode() for character in word]


def _known_characters(tokenizer: Tokenizer, word: str) -> list[bytes]:
    characters = [character.encode() for character in word]
    return [
        token
        for own in characters
        for token in ([own] if own in tokenizer.ids else [bytes([byte]) for byte in own])
    ]


def _one_byte_each(_tokenizer: Tokenizer, word: str) -> list[bytes]:
    return [bytes([byte]) for byte in word.encode("latin-1", errors="replace")]


def _strictly(tokenizer: Tokenizer, ids: list[int]) -> str:
    return b"".join(tokenizer.vocab[number] for number in ids).decode()


def _dropping(tokenizer: Tokenizer, ids: list[int]) -> str:
    return b"".join(tokenizer.vocab[number] for number in ids).decode(errors="ignore")


def _one_by_one(tokenizer: Tokenizer, ids: list[int]) -> str:
    return "".join(tokenizer.vocab[number].decode(errors="replace") for number in ids)


def _with_spaces(tokenizer: Tokenizer, ids: list[int]) -> str:
    return b" ".join(tokenizer.vocab[number] for number in ids).decode(errors="replace")


def _all_at_once(tokenizer: Tokenizer, iterable: Iterable[str]) -> Iterator[int]:
    return iter(tokenizer.encode("".join(iterable)))


def _stripped(tokenizer: Tokenizer, iterable: Iterable[str]) -> Iterator[int]:
    for line in iterable:
        yield from tokenizer.encode(line.strip())


def _with_newlines(tokenizer: Tokenizer, iterable: Iterable[str]) -> Iterator[int]:
    for line in iterable:
        yield from tokenizer.encode(line + "\n")


def _characters_one_by_one(tokenizer: Tokenizer, iterable: Iterable[str]) -> Iterator[int]:
    for character in "".join(iterable):
        yield from tokenizer.encode(character)


def _made(**replaced: Callable[..., Any]) -> Callable[..., Tokenizer]:
    """Returns a class of tokenizer with some of its methods replaced."""
    return type("Tokenizer", (Tokenizer,), dict(replaced))


def _tokenizer(**replaced: Callable[..., Any]) -> Replacing:
    return Replacing(_made, replaced)


def _mistake(
    id: str, explanation: str, hint: str, *variants: Replacing, common: bool = False
) -> Mistake:
    return Mistake(id, explanation, hint, {"get_tokenizer": variants}, common=common)


MISTAKES = (
    _mistake(
        "tokenizer-specials-split",
        "Your special tokens are split and merged like any other text.",
        "Where in your code is a text cut before its words are looked for?",
        _tokenizer(parts=_uncut),
        _tokenizer(parts=_specials_as_text),
        common=True,
    ),
    _mistake(
        "tokenizer-specials-lost",
        "Your special tokens are gone from what is encoded.",
        "Does `re.split` keep the text it splits at if the pattern has no group?",
        _tokenizer(parts=_without_specials),
        common=True,
    ),
    _mistake(
        "tokenizer-specials-unescaped",
        "In your pattern the characters of special tokens mean something else: `|` is an "
        "alternative there.",
        "Which function of `re` makes a pattern of a text that matches this text and nothing else?",
        _tokenizer(parts=_unescaped),
    ),
    _mistake(
        "tokenizer-specials-joined",
        "Your pattern has several special tokens one behind another: alone, none of them is found.",
        "Which character stands between the alternatives of a regular expression?",
        _tokenizer(parts=_joined),
    ),
    _mistake(
        "tokenizer-specials-in-pattern",
        "Your special tokens are found only where a word begins: a space or a mark before one "
        "takes its first characters along.",
        "Which match does a regular expression find at the space of ` <|endoftext|>`?",
        _tokenizer(parts=_one_pattern),
    ),
    _mistake(
        "tokenizer-spaces-at-specials-lost",
        "Spaces and line ends beside your special tokens are lost.",
        "Which parts does `strip` leave empty or make shorter?",
        _tokenizer(parts=_without_blanks),
        _tokenizer(parts=_stripped_parts),
    ),
    _mistake(
        "tokenizer-cut-at-nothing",
        "Without special tokens your text is cut at every character: your pattern is empty then.",
        "Where does `re.split` cut a text if its pattern is an empty one?",
        _tokenizer(parts=_at_nothing),
    ),
    _mistake(
        "tokenizer-specials-shortest-first",
        "Where one special token is the beginning of another, yours can find the shorter one.",
        "Which of two alternatives does a regular expression take if both match at a place?",
        _tokenizer(in_order=_shortest_first),
        _tokenizer(in_order=_as_given),
    ),
    _mistake(
        "tokenizer-merges-in-order-of-text",
        "Your merges are applied in the order of the text instead of the order in which they "
        "were learnt.",
        "If a word has two known pairs, which of them was merged first in the training?",
        _tokenizer(merged=_first_in_text),
        _tokenizer(merged=_leftmost_alone),
    ),
    _mistake(
        "tokenizer-merges-from-the-right",
        "Your merges go through a word from its end: of `aaa` yours makes `a` and `aa`.",
        "Which two of three equal letters does someone merge who reads from the left?",
        _tokenizer(merged=_from_the_right),
    ),
    _mistake(
        "tokenizer-merges-in-reverse",
        "Your merges are applied from the last that was learnt to the first.",
        "Which rank does the first merge of the list have, and which one do you look for?",
        _tokenizer(merged=_last_learnt_first),
    ),
    _mistake(
        "tokenizer-first-merge-missing",
        "Your first merge is never made: its rank 0 counts as false in Python.",
        "Is `bool(0)` true, and how else can you ask whether a pair has a rank?",
        _tokenizer(merged=_first_never),
    ),
    _mistake(
        "tokenizer-ids-for-ranks",
        "Your merges are made in the order of the vocabulary's ids instead of the list of merges.",
        "Which of the two arguments says what was learnt first?",
        _tokenizer(merged=_by_id),
        _tokenizer(merged=_by_id_of_any),
    ),
    _mistake(
        "tokenizer-merged-once-a-word",
        "A pair that stands in a word twice is merged there once.",
        "How often does (b'a', b'n') still occur in `banana` after it is merged?",
        _tokenizer(merged=_each_once),
    ),
    _mistake(
        "tokenizer-longest-token",
        "Your tokenizer takes the longest token that it knows, but it should apply the merges.",
        "Which decision of the encoder needs the list of merges?",
        _tokenizer(merged=_longest_known),
    ),
    _mistake(
        "tokenizer-without-merges",
        "Your tokens are single bytes: nothing is merged.",
        "How does a word change by the first merge, and does the next merge see that?",
        _tokenizer(merged=_unmerged),
    ),
    _mistake(
        "tokenizer-across-words",
        "Your merges go across the borders of words.",
        "Which step is between the special tokens and the merges?",
        _tokenizer(words=_one_word),
    ),
    _mistake(
        "tokenizer-uncut-without-specials",
        "Without special tokens your text is not cut into words.",
        "Which lines of your `encode` run if there are no special tokens?",
        _tokenizer(words=_one_word_without_specials),
    ),
    _mistake(
        "tokenizer-words-at-spaces",
        "Your text is cut into words at its spaces instead of by the pattern.",
        "Which words does the pattern find in `it's 12:30`, and which of them has the space?",
        _tokenizer(words=_at_spaces),
        _tokenizer(words=_spaces_lost),
    ),
    _mistake(
        "tokenizer-words-of-word-characters",
        r"Your words take an underscore for a letter, as `\w` does.",
        r"Which words does the pattern find in `x_2`, and which of the three characters is `\w`?",
        _tokenizer(words=staticmethod(with_word_characters)),
        _tokenizer(words=staticmethod(with_underscores)),
    ),
    _mistake(
        "tokenizer-words-of-ascii",
        "Your pattern takes no letter beyond ASCII for a letter, as when it is matched on bytes.",
        "Which words does your pattern find in `café`, in the text and in its bytes?",
        _tokenizer(words=staticmethod(with_letters_of_ascii)),
    ),
    _mistake(
        "tokenizer-not-utf8",
        "Your tokenizer begins with characters, but it should begin with the bytes of UTF-8.",
        "How many bytes has an é, and which tokens does every vocabulary have?",
        _tokenizer(bytes_of=_characters),
        _tokenizer(bytes_of=_known_characters),
        _tokenizer(bytes_of=_one_byte_each),
    ),
    _mistake(
        "tokenizer-decodes-one-by-one",
        "Your tokens are decoded one by one, so that characters of several tokens are lost.",
        "Does the first byte of an é decode alone?",
        _tokenizer(decode=_one_by_one),
    ),
    _mistake(
        "tokenizer-decodes-strictly",
        "Your decoding raises an error where the bytes are not valid UTF-8.",
        "Which argument of `bytes.decode` handles errors, and where does U+FFFD stand?",
        _tokenizer(decode=_strictly),
    ),
    _mistake(
        "tokenizer-decodes-dropping",
        "Your decoding leaves out bytes that are not valid UTF-8 instead of writing U+FFFD.",
        "Which argument of `bytes.decode` handles errors, and where does U+FFFD stand?",
        _tokenizer(decode=_dropping),
    ),
    _mistake(
        "tokenizer-decodes-with-spaces",
        "Your decoding puts spaces between the tokens, which have their own already.",
        "Where are the spaces of a text, once it is cut into words?",
        _tokenizer(decode=_with_spaces),
    ),
    _mistake(
        "tokenizer-lines-changed",
        "Your lines lose or gain characters before they are encoded.",
        "Which character ends a line of a file, and should it be encoded?",
        _tokenizer(encode_iterable=_stripped),
        _tokenizer(encode_iterable=_with_newlines),
    ),
    _mistake(
        "tokenizer-iterable-in-characters",
        "A text that comes in pieces is encoded character by character.",
        "Does a loop over a str give characters or lines, and a loop over a file?",
        _tokenizer(encode_iterable=_characters_one_by_one),
    ),
)
