"""The tokenizer's training: what the grade looks at beyond the public tests."""

import pytest
from tests.public.corpora import ENDS, corpus, trainings_match

from grader.testing import exercise


@exercise("run_train_bpe")
@pytest.mark.parametrize(("letters", "merges"), [("ab", 25), ("aeinorst", 60)])
def test_training(student, reference, draw, letters, merges):
    """Long repetitions of few letters, and words of more."""
    trainings_match(student, reference, corpus(draw, letters, 24, 150), merges)


@exercise("run_train_bpe")
def test_training_on_documents(student, reference, draw):
    """Several documents, each ended by a special token and a line end."""
    documents = [corpus(draw, "abc<>no|", 10, 25) for _ in range(8)]
    trainings_match(student, reference, "".join(f"{one}\n{ENDS}\n" for one in documents), 30)


@exercise("run_train_bpe")
def test_training_on_another_script(student, reference, draw):
    """Letters of two and three bytes: some merges are parts of letters, others span several."""
    trainings_match(student, reference, corpus(draw, "ежзийклあいう", 16, 80), 40)


@exercise("run_train_bpe", aspect="generality")
@pytest.mark.parametrize("specials", [(ENDS, "<|pad|>"), ("[SEP]", "(.*)", "a+b")], ids=str)
def test_training_with_several_special_tokens(student, reference, draw, specials):
    """Each has its place in the vocabulary; none is a pattern."""
    parts = [corpus(draw, "abSEP", 6, 12) for _ in range(2 * len(specials))]
    text = "".join(part + specials[n % len(specials)] for n, part in enumerate(parts))
    trainings_match(student, reference, text, 12, specials)


@exercise("run_train_bpe", aspect="generality")
def test_training_until_nothing_is_left_to_merge(student, reference, draw):
    """A short text has few pairs: the vocabulary is smaller then than it may be."""
    trainings_match(student, reference, corpus(draw, "abc", 3, 4), 0, vocab_size=500)


@exercise("run_train_bpe", aspect="generality")
def test_training_without_merges(student, reference, draw):
    """Where there is room for the bytes and the special tokens only, nothing is merged."""
    trainings_match(student, reference, corpus(draw, "abc", 3, 8), 0)
    trainings_match(student, reference, corpus(draw, "abc", 3, 8), 1)
