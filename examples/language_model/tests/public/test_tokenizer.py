"""The tokenizer: the tests that you have at home."""

import pytest
from tests.public.vocabularies import ENDS, LETTERS, encodings_match, made, tokens_match

from grader.testing import assert_matches, exercise


@exercise("get_tokenizer")
def test_tokenizer_of_a_worked_example(student, reference, draw):
    """Of `the cat ate`, by six merges: the, Ġc + a + t, Ġat + e."""
    letters = [b" ", b"a", b"c", b"e", b"h", b"t"]
    merges = [(b"t", b"h"), (b" ", b"c"), (b" ", b"a"), (b"th", b"e"), (b" a", b"t")]
    vocab = dict(enumerate([*letters, *(left + right for left, right in merges)]))
    own = student(vocab, merges, None)
    tokens = [b"the", b" c", b"a", b"t", b" at", b"e"]
    ids = [next(n for n, token in vocab.items() if token == one) for one in tokens]
    tokens_match(vocab, own.encode("the cat ate"), ids, "the cat ate")
    assert own.decode(ids) == "the cat ate"
    text = draw.text(30, "acehtt ")
    tokens_match(vocab, own.encode(text), reference(vocab, merges, None).encode(text), text)


@exercise("get_tokenizer")
def test_tokenizer_encodes_words(student, reference, draw):
    """The merge that was learnt first comes first, within words."""
    text = draw.text(80, "aabehlnott  ")
    vocab, merges = made(draw, text)
    encodings_match(student, reference, vocab, merges, [text[:20], text[20:]])


@exercise("get_tokenizer")
def test_tokenizer_cuts_texts_as_gpt2_does(student, reference, draw):
    """Letters, digits, marks, contractions and spaces are words of their own."""
    text = "I'll pay 12.50 dollars,  it's\n\n   not 3rd-rate!? " + draw.text(40, LETTERS)
    vocab, merges = made(draw, text)
    encodings_match(student, reference, vocab, merges, [text])


@exercise("get_tokenizer")
def test_tokenizer_keeps_special_tokens(student, reference, draw):
    """A special token is one token wherever it stands, and merges do not reach over it."""
    parts = [draw.text(8, "abe ") for _ in range(3)]
    text = ENDS.join(parts) + ENDS
    vocab, merges = made(draw, text, special_tokens=[ENDS])
    encodings_match(student, reference, vocab, merges, [text], [ENDS])


@exercise("get_tokenizer")
def test_tokenizer_decodes(student, reference, draw):
    """The text comes back, characters of several tokens among it."""
    text = draw.text(40, LETTERS)
    vocab, merges = made(draw, text)
    own, right = student(vocab, merges, None), reference(vocab, merges, None)
    ids = right.encode(text)
    assert_matches(own.decode(ids), right.decode(ids), what="the decoded text")


@exercise("get_tokenizer")
def test_tokenizer_encodes_line_by_line(student, reference, draw):
    """The lines of an open file, one after another, give the tokens of the whole text."""
    lines = [draw.text(12, "aabeht ") + ".\n" for _ in range(4)]
    vocab, merges = made(draw, "".join(lines))
    own, right = student(vocab, merges, None), reference(vocab, merges, None)
    file = student.file("".join(lines), "lines.txt")
    got, wanted = list(own.encode_iterable(file.as_text)), list(right.encode_iterable(lines))
    tokens_match(vocab, got, wanted, "".join(lines))


@exercise("get_tokenizer", aspect="generality")
@pytest.mark.parametrize("cut", ["at its end", "at its beginning", "anywhere"])
def test_tokenizer_decodes_what_is_no_text(student, reference, draw, cut):
    """Where bytes are no valid UTF-8, the text has U+FFFD."""
    vocab, merges = made(draw, draw.text(20, LETTERS))
    own, right = student(vocab, merges, None), reference(vocab, merges, None)
    number = {token: number for number, token in vocab.items()}
    whole = [number[bytes([byte])] for byte in f"é{draw.text(5, LETTERS)}語".encode()]
    ids = {
        "at its end": whole[:-1],
        "at its beginning": whole[1:],
        "anywhere": draw.integers(0, len(vocab), 12).tolist(),
    }
    assert_matches(own.decode(ids[cut]), right.decode(ids[cut]), what="the decoded text")
