"""The tokenizer: the tests that you have at home."""

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
    # Two merges compete in the last word but one; in the last, each is to be made twice.
    text = f"a{draw.text(30, 'acehtt ')} ath thethe"
    tokens_match(vocab, own.encode(text), reference(vocab, merges, None).encode(text), text)


@exercise("get_tokenizer")
def test_tokenizer_encodes_words(student, reference, draw):
    """The merge that was learnt first comes first, wherever a word has it."""
    learnt, telling = rivals(draw)
    known = corpus(draw, "aabehlnott", 20, 60)
    vocab, merges = trained(draw, reference, known + learnt, 40)
    others = " ".join(drawn_words(draw, "aabehlnott", 20))
    encodings_match(student, reference, vocab, merges, [known[:60] + telling, others + telling])


@exercise("get_tokenizer")
@pytest.mark.parametrize("where", ["contractions", "spaces", "digits and marks", "underscores"])
def test_tokenizer_cuts_texts_as_gpt2_does(student, reference, draw, where):
    """Letters, digits, marks, contractions and spaces are words of their own."""
    learnt, telling = rivals(draw)
    words = drawn_words(draw, "aabehlnott", 8)
    between, text = {
        # Of the letter behind an apostrophe and the next one, a merge was learnt.
        "contractions": (" ", " I'll".join(words) + telling.replace(" ", "'")),
        # Two spaces were merged, of which the second now belongs to a word.
        "spaces": ("   ", "\n\n   ".join([*words[:4], "  ".join(words), "  "])),
        # Of two marks, a merge was learnt; to `\w`, the first of them is no mark.
        "digits and marks": (
            ", 12.50_! ",
            "".join(f"{one}, 12.50_!?  3rd-{one}" for one in words),
        ),
        "underscores": ("_! ", "".join(f"{one}_!_{one} " for one in words)),
    }[where]
    known = between.join(4 * words)
    vocab, merges = trained(draw, reference, known + learnt, 30)
    encodings_match(student, reference, vocab, merges, [text + telling])


@exercise("get_tokenizer")
def test_tokenizer_keeps_special_tokens(student, reference, draw):
    """A special token is one token wherever it stands, and merges do not reach over it."""
    learnt, telling = rivals(draw)
    known = corpus(draw, "abdefnot", 20, 60)
    vocab, merges = trained(draw, reference, known + learnt, 30, [ENDS])
    parts = [known[:30], *drawn_words(draw, "abdefnot", 3), telling]
    apart = telling.replace(" ", "'")
    texts = [ENDS.join(parts) + ENDS, f"{telling} {ENDS} {ENDS}{apart}"]
    encodings_match(student, reference, vocab, merges, texts, [ENDS])


@exercise("get_tokenizer")
def test_tokenizer_decodes(student, reference, draw):
    """The text comes back, characters of several tokens among it."""
    vocab, merges = trained(draw, reference, draw.text(80, LETTERS), 30)
    own, right = student(vocab, merges, None), reference(vocab, merges, None)
    ids = right.encode(draw.text(30, LETTERS) + draw.text(10, "ßñ文🙃"))
    assert_matches(own.decode(ids), right.decode(ids), what="the decoded text")


@exercise("get_tokenizer")
def test_tokenizer_encodes_line_by_line(student, reference, draw):
    """The lines of an open file, one after another, give the tokens of the whole text."""
    learnt, telling = rivals(draw)
    words = [" ".join(drawn_words(draw, "aabeht", 2)) for _ in range(3)]
    lines = [f"{one}{telling}.\n" for one in words]
    # What tells how merges are made is not learnt from, or it may become one token.
    vocab, merges = trained(draw, reference, ".\n".join(words) + learnt, 20)
    own, right = student(vocab, merges, None), reference(vocab, merges, None)
    file = student.file("".join(lines), "lines.txt")
    got, wanted = list(own.encode_iterable(file.as_text)), list(right.encode_iterable(lines))
    tokens_match(vocab, got, wanted, "".join(lines))


@exercise("get_tokenizer", aspect="generality")
@pytest.mark.parametrize("merges", [40, 60])
def test_tokenizer_with_any_vocabulary(student, reference, draw, merges):
    """The order of the merges counts, whatever ids the tokens have."""
    text = draw.text(200, "aabehlnott  ") + rivals(draw)[1]
    vocab, merges = made(draw, text, merges)
    encodings_match(student, reference, vocab, merges, [text[text.index(" ", 100) :], text])


@exercise("get_tokenizer", aspect="generality")
@pytest.mark.parametrize("cut", ["at its end", "at its beginning", "anywhere"])
def test_tokenizer_decodes_what_is_no_text(student, reference, draw, cut):
    """Where bytes are no valid UTF-8, the text has U+FFFD."""
    vocab, merges = trained(draw, reference, draw.text(80, LETTERS), 20)
    own, right = student(vocab, merges, None), reference(vocab, merges, None)
    number = {token: number for number, token in vocab.items()}
    whole = [number[bytes([byte])] for byte in f"é{draw.text(5, LETTERS)}語".encode()]
    ids = {
        "at its end": whole[:-1],
        "at its beginning": whole[1:],
        "anywhere": [*draw.integers(0, len(vocab), 20).tolist(), *whole[-1:], *whole],
    }
    assert_matches(own.decode(ids[cut]), right.decode(ids[cut]), what="the decoded text")
