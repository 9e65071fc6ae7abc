"""What the tests of the tokenizer's training share."""

import itertools
import re
from collections import Counter

from grader.testing import assert_matches

ENDS = "<|endoftext|>"
# No text that is drawn has one of these, so that what is learnt of `telling` is learnt in any case.
_CAPITALS = "ABCDFGHIJKLMNOQRTUVWXYZ"


def drawn_words(draw, letters, number):
    """So many words of one to six letters."""
    return [draw.text(int(draw.integers(1, 7)), letters) for _ in range(number)]


def corpus(draw, letters, words=12, size=60):
    """A text of a few words, some of them more frequent than others; all are drawn."""
    known = drawn_words(draw, letters, words)
    places = (draw.uniform(size) ** 2 * words).long().tolist()
    return " ".join(known[place] for place in places)


def plain(draw):
    """Words from which six merges are learnt, no two of them ever equally frequent.

    Of the letters a, b, c, d and e, f, g, h, which are drawn, these are a + b, e + f, ab + c,
    ef + g, abc + d and efg + h. The letter e comes after a: if words were counted once each, pairs
    would be equally frequent, and e + f the greater one.
    """
    places = draw.permutation(len(_CAPITALS)).tolist()[:8]
    letters = "".join(_CAPITALS[place] for place in places)
    words = sorted([letters[:4], letters[4:]])
    numbers = {2: (20, 17), 3: (15, 12), 4: (10, 7)}
    return "\n".join(
        word[:size]
        for size, several in numbers.items()
        for word, number in zip(words, several, strict=True)
        for _ in range(number)
    )


def telling(draw):
    """Words from which twelve merges are learnt, in whose order most mistakes show.

    In the order of the alphabet their letters are a, b, c, ...; which these are is drawn. Learnt
    are b + d, g + h, k + k, a + b, gh + gh, f + l, e + fl, _ + efl, and i + j, ab + c and a + bd,
    which are equally frequent, and kk + kk.
    """
    places = sorted(draw.permutation(len(_CAPITALS)).tolist()[:12])
    a, b, c, d, e, f, g, h, i, j, k, l_ = (_CAPITALS[place] for place in places)
    words = {
        b + d: 45,
        a + b: 10,
        a + b + c: 15,
        a + b + d: 15,
        2 * (g + h): 20,
        4 * k: 12,
        i + j: 15,
    }
    lines = [word for word, number in words.items() for _ in range(number)]
    return "\n".join(lines) + 17 * f" {e}{f}{l_}" + "\n"


def tied_beyond_ascii():
    """Two letters that are equally frequent; none of their bytes is a text by itself."""
    return "".join(60 * f"{letter}\n" for letter in "Дф")


def mixed_word():
    """A frequent word of a letter of ASCII and one beyond it: whole, it is two merges."""
    return 70 * "zé\n"


def pairs_of(text, merges):
    """How often each pair of tokens stands in the words of a text, after some merges."""
    found = Counter()
    for word in re.findall(r" ?\S+", text):
        tokens = [bytes([byte]) for byte in word.encode()]
        for first, second in merges:
            for place in range(len(tokens) - 1):
                if tokens[place : place + 2] == [first, second]:
                    tokens[place : place + 2] = [first + second]
        found.update(itertools.pairwise(tokens))
    return found


def merges_cost(student, draw, merged, words):
    """Counts the lines that a dozen merges in some words execute in a text with so many others.

    None of these has a pair that is merged; they have the same 64 pairs, however many they are.
    """
    letters = _CAPITALS[:8]
    others = [draw.text(16, letters) for _ in range(words)]
    text = "\n".join([*(150 * merged), *others])

    def lines(merges):
        return student.count_lines(student.file(text, "corpus.txt"), 257 + merges, [ENDS])

    # What is made once, at the first call, is made before anything is counted.
    _, learned = student(student.file(text, "corpus.txt"), 257 + 2, [ENDS])
    assert len(learned) == 2, (
        f"a vocabulary of {257 + 2} entries, one of them a special token, has 2 merges, not "
        f"{len(learned)}: the cost of a merge cannot be told"
    )
    return -lines(2) + lines(14)


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
