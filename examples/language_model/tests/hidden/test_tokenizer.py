"""The tokenizer: what the grade looks at beyond the public tests."""

import itertools

import pytest
from tests.public.corpora import corpus, drawn_words
from tests.public.vocabularies import (
    ENDS,
    LETTERS,
    encodings_match,
    made,
    rivals,
    tokens_match,
    trained,
)

from grader.testing import assert_matches, exercise


@exercise("get_tokenizer")
def test_tokenizer_encodes_long_words(student, reference, draw):
    """Long words of few letters, in which many merges compete."""
    learnt, telling = rivals(draw)
    known = " ".join(draw.text(80, letters) for letters in ("aab", "abc"))
    vocab, merges = trained(draw, reference, known + learnt, 40)
    texts = [draw.text(80, "aab") + telling, draw.text(80, "abc") + telling]
    encodings_match(student, reference, vocab, merges, texts)


@exercise("get_tokenizer")
def test_tokenizer_encodes_text_beyond_ascii(student, reference, draw):
    """What is merged are bytes of UTF-8, parts of characters among them."""
    learnt, telling = rivals(draw)
    letters = "äéßñ語文字🙂🙃"
    known = corpus(draw, letters, 20, 60)
    # A space and the first byte of a letter are merged before the bytes of the letter are.
    own, other = ("åæöøü"[place] for place in draw.permutation(5).tolist()[:2])
    accented = f" {own} {other}" * 40 + f" n{own}" * 30
    vocab, merges = trained(draw, reference, known + learnt + accented, 40)
    # The letters of the last word are in no word that was learnt.
    others = " ".join([*drawn_words(draw, letters, 20), draw.text(3, "çжऊ🙏")])
    # The letter of ASCII before it belongs to the same word.
    texts = [f"{known[:40]} {own} n{own}{telling}", others + telling]
    encodings_match(student, reference, vocab, merges, texts)


@exercise("get_tokenizer")
def test_tokenizer_gives_texts_back(student, reference, draw):
    """What was encoded is decoded into the text that it was."""
    vocab, merges = trained(draw, reference, draw.text(80, LETTERS), 30, [ENDS])
    own = student(vocab, merges, [ENDS])
    # Spaces beside special tokens have a test of their own: the text neither begins nor ends so.
    text = f"a{draw.text(40, LETTERS)} {draw.text(10, 'ßñ文🙃')}{ENDS}"
    ids = own.encode(text)
    # A code of its own, such as the numbers of the characters, would come back as well.
    told = b"".join(vocab.get(one, b"") for one in ids).decode(errors="replace")
    assert_matches(told, text, what="the text of the tokens")
    assert_matches(own.decode(ids), text, what="the text, encoded and decoded,")


def with_special_tokens(student, reference, draw, specials, text_with):
    """A text that has special tokens among words of few letters."""
    learnt, telling = rivals(draw)
    known = corpus(draw, "abe", 12, 40)
    vocab, merges = trained(draw, reference, known + learnt, 20, specials)
    text = text_with(drawn_words(draw, "abe", 8)) + telling
    encodings_match(student, reference, vocab, merges, [text], specials)


@exercise("get_tokenizer", aspect="generality")
@pytest.mark.parametrize(
    "specials", [[ENDS, ENDS + ENDS], [ENDS + ENDS, ENDS], ["<|user", "<|user|>"]], ids=str
)
def test_tokenizer_finds_the_longest_special_token(student, reference, draw, specials):
    """Where one special token is the beginning of another, the longer one is found."""
    longer = max(specials, key=len)

    def text_with(words):
        ends = (longer, *specials, longer)
        return "".join(" ".join(words[n::4]) + one for n, one in enumerate(ends))

    with_special_tokens(student, reference, draw, specials, text_with)


@exercise("get_tokenizer", aspect="generality")
def test_tokenizer_keeps_several_special_tokens(student, reference, draw):
    """Special tokens of any characters: dots, brackets and stars are no patterns."""
    specials = ["[SEP]", "(.*)", "a+b"]

    def text_with(words):
        return "".join(" ".join(words[n::4]) + one for n, one in enumerate([*specials, ""]))

    with_special_tokens(student, reference, draw, specials, text_with)


@exercise("get_tokenizer", aspect="generality")
def test_tokenizer_without_special_tokens_takes_them_for_text(student, reference, draw):
    """Only what it is told is special."""
    learnt, telling = rivals(draw)
    known = corpus(draw, "abe", 12, 40)
    vocab, merges = trained(draw, reference, known + learnt, 20, [ENDS])
    text = ENDS.join([*drawn_words(draw, "abe", 2), telling])
    encodings_match(student, reference, vocab, merges, [text])


@exercise("get_tokenizer", aspect="generality")
def test_tokenizer_adds_a_special_token(student, reference, draw):
    """A special token that is not in the vocabulary gets a free id of its own."""
    learnt, telling = rivals(draw)
    vocab, merges = trained(draw, reference, corpus(draw, "abe", 12, 40) + learnt, 20)
    text = ENDS.join([*drawn_words(draw, "abe", 2), telling])
    own, right = (handle(vocab, merges, [ENDS]) for handle in (student, reference))
    ids = own.encode(text)
    tokens_match(vocab | {len(vocab): ENDS.encode()}, ids, right.encode(text), text)
    assert_matches(own.decode(ids), text, what="the text, encoded and decoded,")
    # Given, longest first and in alphabetical order, the two are in the same order.
    two, both = student(vocab, merges, [ENDS, "[SEP]"]), f"{text}[SEP]{telling}{ENDS}"
    assert_matches(two.decode(two.encode(both)), both, what="a text with two special tokens")


@exercise("get_tokenizer", aspect="generality")
def test_tokenizer_of_nothing(student, reference, draw):
    """An empty text has no tokens, and no tokens are an empty text."""
    learnt, telling = rivals(draw)
    vocab, merges = trained(draw, reference, corpus(draw, "abe", 12, 40) + learnt, 20)
    first = b"".join(merges[0]).decode()
    texts = ["", " ", draw.text(20, "abe ") + first + telling]
    encodings_match(student, reference, vocab, merges, texts)
    assert student(vocab, merges, None).decode([]) == ""


@exercise("get_tokenizer", aspect="generality")
def test_tokenizer_keeps_special_tokens_in_lines(student, reference, draw):
    """Special tokens in what comes line by line."""
    learnt, telling = rivals(draw)
    lines = [f"é{draw.text(6, 'abeé')} {ENDS} {ENDS}{telling}\n" for _ in range(2)]
    vocab, merges = trained(draw, reference, corpus(draw, "abeé", 12, 40) + learnt, 20, [ENDS])
    own, right = (handle(vocab, merges, [ENDS]) for handle in (student, reference))
    got, wanted = list(own.encode_iterable(lines)), list(right.encode_iterable(lines))
    tokens_match(vocab, got, wanted, "".join(lines))


@exercise("get_tokenizer", aspect="efficiency")
def test_tokenizer_reads_a_file_as_it_goes(student, draw):
    """The first tokens come before the whole file is read, of which the end is no text."""
    line = draw.text(60, "abehlot ") + "\n"
    vocab, merges = made(draw, line, merges=5)
    file = student.file(2_000 * line.encode() + b"\xff", "large.txt")
    own = student(vocab, merges, None)
    try:
        assert len(list(itertools.islice(own.encode_iterable(file.as_text), 5))) == 5
    except Exception as fault:
        if "UnicodeDecodeError" not in str(fault):
            raise
        raise AssertionError(
            "encode_iterable reads all of a file before it gives the first token: a file may be "
            "larger than the memory, so yield the tokens of each line before the next is read"
        ) from None
