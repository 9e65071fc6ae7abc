"""What the tests of the tokenizer's training share."""

from grader.testing import assert_matches

ENDS = "<|endoftext|>"
NUMBERS = {1: "first", 2: "second", 3: "third"}


def corpus(draw, letters, words=12, size=60):
    """A text of a few words, some of them more frequent than others; all are drawn."""
    known = [draw.text(int(draw.integers(1, 7)), letters) for _ in range(words)]
    places = (draw.uniform(size) ** 2 * words).long().tolist()
    return " ".join(known[place] for place in places)


def trainings_match(student, reference, text, merges, special_tokens=(ENDS,), vocab_size=None):
    """The merges, one by one; then the vocabulary.

    A text may have fewer merges than are asked for: the student is asked for those that it has,
    unless a `vocab_size` is told. Ids are 0, 1, 2, ..., and which token has which is left open.
    """
    first = 256 + len(special_tokens)

    def learnt(handle, size):
        return handle(handle.file(text, "corpus.txt"), size, list(special_tokens))

    right_vocab, right = learnt(reference, vocab_size or first + merges)
    own_vocab, own = learnt(student, vocab_size or first + len(right))
    for number, (got, wanted) in enumerate(zip(own, right, strict=False), 1):
        assert_matches(got, wanted, what=f"merge {number} of {len(right)}")
    assert_matches(own, right, what="the list of merges")
    assert_matches(sorted(own_vocab), sorted(right_vocab), what="the sorted list of ids")
    got, wanted = set(own_vocab.values()), set(right_vocab.values())
    assert_matches(got, wanted, what="the set of the tokens in the vocabulary")
