"""The tokenizer: what the grade looks at beyond the public tests."""

import itertools

import pytest
from tests.public.vocabularies import ENDS, LETTERS, encodings_match, made, tokens_match

from grader.testing import assert_matches, exercise


@exercise("get_tokenizer")
def test_tokenizer_encodes_long_words(student, reference, draw):
    """Long words of few letters, in which many merges compete."""
    texts = [draw.text(60, "aab"), draw.text(60, "abc")]
    vocab, merges = made(draw, "".join(texts), merges=60)
    encodings_match(student, reference, vocab, merges, texts)


@exercise("get_tokenizer")
def test_tokenizer_encodes_text_beyond_ascii(student, reference, draw):
    """What is merged are bytes of UTF-8, parts of characters among them."""
    text = draw.text(60, "äéßñ語文字🙂🙃 ")
    vocab, merges = made(draw, text, merges=60)
    encodings_match(student, reference, vocab, merges, [text, text[::-1]])


@exercise("get_tokenizer")
def test_tokenizer_gives_texts_back(student, draw):
    """What was encoded is decoded into the text that it was."""
    text = draw.text(80, LETTERS) + ENDS
    vocab, merges = made(draw, text, special_tokens=[ENDS])
    own = student(vocab, merges, [ENDS])
    assert_matches(own.decode(own.encode(text)), text, what="the text, encoded and decoded,")


@exercise("get_tokenizer", aspect="generality")
@pytest.mark.parametrize(
    "specials", [[ENDS, ENDS + ENDS], [ENDS + ENDS, ENDS], ["<|user", "<|user|>"]], ids=str
)
def test_tokenizer_finds_the_longest_special_token(student, reference, draw, specials):
    """Where one special token is the beginning of another, the longer one is found."""
    longer = max(specials, key=len)
    text = "".join(draw.text(6, "abe ") + special for special in (longer, *specials, longer))
    vocab, merges = made(draw, text, special_tokens=specials)
    encodings_match(student, reference, vocab, merges, [text], specials)


@exercise("get_tokenizer", aspect="generality")
def test_tokenizer_keeps_several_special_tokens(student, reference, draw):
    """Special tokens of any characters: dots, brackets and stars are no patterns."""
    specials = ["[SEP]", "(.*)", "a+b"]
    words = [draw.text(5, "aSEPb. ") for _ in range(4)]
    text = "".join(word + special for word, special in zip(words, [*specials, ""], strict=True))
    vocab, merges = made(draw, text, special_tokens=specials)
    encodings_match(student, reference, vocab, merges, [text], specials)


@exercise("get_tokenizer", aspect="generality")
def test_tokenizer_without_special_tokens_takes_them_for_text(student, reference, draw):
    """Only what it is told is special."""
    text = draw.text(8, "abe ") + ENDS + draw.text(8, "abe ")
    vocab, merges = made(draw, text, special_tokens=[ENDS])
    encodings_match(student, reference, vocab, merges, [text])


@exercise("get_tokenizer", aspect="generality")
def test_tokenizer_of_nothing(student, reference, draw):
    """An empty text has no tokens, and no tokens are an empty text."""
    text = draw.text(20, LETTERS)
    vocab, merges = made(draw, text, merges=5)
    encodings_match(student, reference, vocab, merges, ["", " ", text])
    assert student(vocab, merges, None).decode([]) == ""


@exercise("get_tokenizer", aspect="generality")
def test_tokenizer_keeps_special_tokens_in_lines(student, reference, draw):
    """Special tokens in what comes line by line."""
    lines = [draw.text(8, "abeé ") + ENDS + "\n" for _ in range(4)]
    vocab, merges = made(draw, "".join(lines), special_tokens=[ENDS])
    own, right = (handle(vocab, merges, [ENDS]) for handle in (student, reference))
    got, wanted = list(own.encode_iterable(lines)), list(right.encode_iterable(lines))
    tokens_match(vocab, got, wanted, "".join(lines))


@exercise("get_tokenizer", aspect="efficiency")
def test_tokenizer_reads_a_file_as_it_goes(student, draw):
    """The first tokens come before the whole file is read, of which the end is no text."""
    line = draw.text(60, "abehlot ") + "\n"
    vocab, merges = made(draw, line, merges=5)
    file = student.file(2_000 * line.encode() + b"\xff", "large.txt")
    items = student(vocab, merges, None).encode_iterable(file.as_text)
    try:
        assert len(list(itertools.islice(items, 5))) == 5
    except Exception as fault:
        if "UnicodeDecodeError" not in str(fault):
            raise
        raise AssertionError(
            "encode_iterable reads all of a file before it gives the first token: a file may be "
            "larger than the memory, so yield the tokens of each line before the next is read"
        ) from None
