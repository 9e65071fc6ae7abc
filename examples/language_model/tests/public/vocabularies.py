"""What the tests of the tokenizer share: vocabularies, and how tokens are compared."""

from grader.testing import assert_matches

ENDS = "<|endoftext|>"
# Letters, marks, digits and spaces, of one byte, of two, of three and of four.
LETTERS = "aabeehlotst   .,'1é語🙂\n"


def trained(draw, reference, text, merges, special_tokens=()):
    """A vocabulary as a training leaves it: merges by frequency, ids in the order of the merges.

    The ids of the single bytes are drawn; those of special tokens are the last.
    """
    learn = reference.other("run_train_bpe")
    _, pairs = learn(reference.file(text, "corpus.txt"), 256 + merges, [])
    tokens = [bytes([byte]) for byte in draw.permutation(256).tolist()]
    tokens += map(b"".join, pairs)
    tokens += [special.encode() for special in special_tokens]
    return dict(enumerate(tokens)), pairs


def rivals(draw):
    """Words to be learnt from, and three that tell how merges are made; their letters are drawn.

    Of three equal letters in the first, the first two are merged. In the second, q + r comes before
    p + q, which was learnt later; in the third it comes twice. With apostrophes in the place of the
    spaces, the third is cut between q and r.
    """
    q, same = "sm"[int(draw.integers(0, 2))], "jk"[int(draw.integers(0, 2))]
    p, r = ("uvwxyz"[place] for place in draw.permutation(6).tolist()[:2])
    learnt = f" {q}{r}" * 50 + f" {same}{same}" * 40 + f" {p}{q}" * 30
    return learnt, f" {3 * same} {p}{q}{r} {q}{r}{q}{r}"


def made(draw, text, merges=40):
    """A vocabulary and merges that no training leaves: both are drawn, and so are all ids.

    The text's last two characters are merged first, then a space and the letter that begins the
    last word but one, and then two letters of a word of three equal ones before it. What is merged
    first need not have a smaller id. Some merges go across the borders of words, and are never to
    be applied. No token is a whole word: whoever looks words up in the vocabulary before merging is
    right after any training.
    """
    data = text.encode()
    words = {space + word for word in data.split(b" ") for space in (b"", b" ")}
    pairs = [(data[-2:-1], data[-1:]), (b" ", data.split()[-2:][0][:1])]
    letter = data.split()[-3:][0][:1]
    if 3 * letter in words:
        pairs.append((letter, letter))
    tokens = [*(bytes([byte]) for byte in range(256)), *map(b"".join, pairs)]
    for place in draw.integers(1, len(data), 4 * merges).tolist():
        left = [token for token in tokens if data[:place].endswith(token)]
        right = [token for token in tokens if data[place:].startswith(token)]
        choice = draw.integers(0, 1_000, 2).tolist()
        pair = left[choice[0] % len(left)], right[choice[1] % len(right)]
        joined = b"".join(pair)
        if joined.strip() and joined not in words.union(tokens) and len(pairs) < merges:
            tokens.append(joined)
            pairs.append(pair)
    ids = draw.permutation(len(tokens)).tolist()
    return dict(sorted(zip(ids, tokens, strict=True))), pairs


def tokens_match(vocab, own, right, text):
    """Two encodings of a text, token by token; the first that differs is told."""
    strange = next(((place, one) for place, one in enumerate(own, 1) if one not in vocab), None)
    assert strange is None, (
        f"token {strange[0]} of {text!r} has the id {strange[1]}, and the vocabulary that was "
        "given has no such id"
    )
    got, wanted = ([vocab[one] for one in ids] for ids in (own, right))
    for place, (token, expected) in enumerate(zip(got, wanted, strict=False), 1):
        assert_matches(token, expected, what=f"token {place} of {text!r}")
    assert_matches(got, wanted, what=f"the list of the tokens of {text!r}")


def encodings_match(student, reference, vocab, merges, texts, special_tokens=None):
    """Each text is encoded into the right tokens."""
    arguments = (vocab, merges, special_tokens)
    own, right = student(*arguments), reference(*arguments)
    for text in texts:
        tokens_match(vocab, own.encode(text), right.encode(text), text)
