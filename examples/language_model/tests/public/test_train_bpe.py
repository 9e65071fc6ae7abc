"""The tokenizer's training: the tests that you have at home."""

import pytest
from tests.public.corpora import (
    ENDS,
    corpus,
    merges_cost,
    mixed_word,
    pairs_of,
    plain,
    telling,
    tied_beyond_ascii,
    trainings_match,
)

from grader.testing import exercise

# To ask a word of 16 letters whether it has a pair takes 8 lines; to go through its letters, more.
# The half is for pairs that the text with fewer words may lack: no draw decides.
LINES_FOR_A_WORD = 8.5
WORKED = (
    "low low low low low lower lower widest widest widest newest newest newest newest newest newest"
)


@exercise("run_train_bpe")
def test_training_on_a_worked_example(student, reference, draw):
    """Of `low lower newest widest`: s + t, e + st, o + w, l + ow, w + est, n + e, ne + west, ..."""
    _, merges = student(student.file(WORKED, "corpus.txt"), 257 + 3, [ENDS])
    firsts = [(b"s", b"t"), (b"e", b"st"), (b"o", b"w")]
    for place, (got, right) in enumerate(zip(merges, firsts, strict=False)):
        often = pairs_of(WORKED, firsts[:place])
        is_tie = often[got] == often[right]
        why = f"is the greater of two pairs that stand {often[got]} times"
        why = why if is_tie else f"stands {often[right]} times, and the other {often[got]} times"
        assert got == right, f"merge {place + 1} is {got}, but {right} {why}"
    trainings_match(student, reference, telling(draw) + corpus(draw, "elnorstw"), 25)


@exercise("run_train_bpe")
def test_training_without_ties(student, reference, draw):
    """Where one pair is always more frequent than all others."""
    trainings_match(student, reference, plain(draw), 5)


@exercise("run_train_bpe")
def test_training_on_words(student, reference, draw):
    """The most frequent pair first, counted anew after each merge."""
    trainings_match(student, reference, telling(draw) + corpus(draw, "abcde", 30, 120), 50)


@exercise("run_train_bpe")
def test_training_with_ties(student, reference, draw):
    """In a short text many pairs are equally frequent: the greatest of them is merged."""
    text = corpus(draw, "abcdefghij", 20, 30)
    trainings_match(student, reference, f"{text}\n{text}\n{telling(draw)}", 30)


@exercise("run_train_bpe")
def test_training_learns_nothing_of_special_tokens(student, reference, draw):
    """The text ends and begins at a special token, of which nothing is merged."""
    parts = [f"e{draw.text(6, 'endoftx<>')}<>t" for _ in range(40)]
    trainings_match(student, reference, ENDS.join([*parts, telling(draw)]), 30)


@exercise("run_train_bpe")
def test_training_merges_nothing_across_special_tokens(student, reference, draw):
    """What stands before a special token and what stands behind it are no pair."""
    parts = [f"a{draw.text(2, 'bcd')}e" for _ in range(60)]
    trainings_match(student, reference, ENDS.join([*parts, telling(draw)]), 24)


@exercise("run_train_bpe", aspect="generality")
def test_training_on_text_beyond_ascii(student, reference, draw):
    """What is merged are bytes of UTF-8."""
    text = telling(draw) + tied_beyond_ascii() + mixed_word() + corpus(draw, "aéñß語文🙂", 12, 40)
    trainings_match(student, reference, text, 32)


@exercise("run_train_bpe", aspect="generality")
def test_training_on_sentences(student, reference, draw):
    """Marks, digits, contractions, line ends and indentation are words of their own."""
    words = corpus(draw, "abst", 10, 30).split()
    marks = ["'s ", "'ll ", ", ", ". ", " (3) ", "\n\n", "  ", "-", "12 "]
    ends = [marks[place] for place in draw.integers(0, len(marks), len(words)).tolist()]
    text = "".join(word + end for word, end in zip(words, ends, strict=True))
    text += "a_! " * 30 + "    b\n\n" * 30
    trainings_match(student, reference, telling(draw) + text, 25)


@exercise("run_train_bpe", aspect="efficiency")
def test_training_goes_on_from_the_counts_that_it_has(student, draw):
    """A merge costs as much in a text that has more words, if it changes none of them."""
    merged = [draw.text(8, "abcdefghijklmnop") for _ in range(4)]
    few, many = (merges_cost(student, draw, merged, words) for words in (20, 160))
    assert many - few <= 12 * 140 * LINES_FOR_A_WORD, (
        f"beside 20 words that they leave alone, twelve merges execute {few} lines of Python, and "
        f"beside 160 such words {many}: count again only in the words that a merge has changed"
    )


@exercise("run_train_bpe", aspect="generality")
@pytest.mark.parametrize("letters", ["abcd", "aéß"])
def test_training_without_special_tokens(student, reference, draw, letters):
    """Where no special tokens are given, the text is cut into words as well."""
    text = corpus(draw, letters, 12, 40) + "\n" + tied_beyond_ascii() + mixed_word() + telling(draw)
    trainings_match(student, reference, text, 22, special_tokens=())
