"""The tokenizer's training: what the grade looks at beyond the public tests."""

import pytest
from tests.public.corpora import ENDS, corpus, telling, tied_beyond_ascii, trainings_match

from grader.testing import exercise


@exercise("run_train_bpe")
@pytest.mark.parametrize(("letters", "merges"), [("ab", 30), ("aeinorst", 45)])
def test_training(student, reference, draw, letters, merges):
    """Long repetitions of few letters, and words of more."""
    trainings_match(student, reference, telling(draw) + corpus(draw, letters, 24, 100), merges)


@exercise("run_train_bpe")
def test_training_on_documents(student, reference, draw):
    """Several documents, each ended by a special token and a line end."""
    documents = [corpus(draw, "abc<>no|", 4, 6) + " <<_>>" for _ in range(30)]
    text = "".join(f"{one}\n{ENDS}\n" for one in [*documents, telling(draw)])
    trainings_match(student, reference, text, 40)


@exercise("run_train_bpe")
def test_training_on_another_script(student, reference, draw):
    """Letters of two and three bytes: some merges are parts of letters, others span several."""
    text = corpus(draw, "ежзийклあいう", 16, 80) + "\n" + tied_beyond_ascii() + telling(draw)
    trainings_match(student, reference, text, 50)


@exercise("run_train_bpe", aspect="generality")
@pytest.mark.parametrize("specials", [(ENDS, "<|pad|>"), ("[SEP]", "(.*)", "a+b")], ids=str)
def test_training_with_several_special_tokens(student, reference, draw, specials):
    """Each has its place in the vocabulary; none is a pattern."""
    parts = [f"a{draw.text(2, 'bSEP')}c" for _ in range(30 * len(specials))]
    text = "".join(part + specials[n % len(specials)] for n, part in enumerate(parts))
    trainings_match(student, reference, text + telling(draw), 30, specials)


@exercise("run_train_bpe", aspect="generality")
def test_training_on_a_file_of_many_documents(student, reference, draw):
    """Whoever reads a file in blocks cuts no special token in two: nothing is learnt of halves."""
    documents = [*draw.text(3000, "bdfg"), corpus(draw, "bdfg", 8, 8), telling(draw)]
    trainings_match(student, reference, "".join(one + ENDS for one in documents), 99)


@exercise("run_train_bpe", aspect="generality")
def test_training_on_numbers_of_every_kind(student, reference, draw):
    """Fractions and raised digits are numbers, as other digits are."""
    text = corpus(draw, "12½²", 16, 60) + "\n" + tied_beyond_ascii() + telling(draw)
    trainings_match(student, reference, text, 32)


@exercise("run_train_bpe", aspect="generality")
def test_training_until_nothing_is_left_to_merge(student, reference, draw):
    """A short text has few pairs: the vocabulary is smaller then than it may be."""
    for letters in ("abc", "de"):
        text = telling(draw) + corpus(draw, letters, 3, 4)
        trainings_match(student, reference, text, 0, vocab_size=500)


@exercise("run_train_bpe", aspect="generality")
def test_training_without_merges(student, reference, draw):
    """Where there is room for the bytes and the special tokens only, nothing is merged."""
    trainings_match(student, reference, telling(draw) + corpus(draw, "abc", 3, 8), 0)
    trainings_match(student, reference, telling(draw) + corpus(draw, "abc", 3, 8), 1)
