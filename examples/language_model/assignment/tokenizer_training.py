"""Part 10, the tokenizer's training: which pairs of tokens a text has most often.

Paper: Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units".
"""

import os


def train_bpe(
    input_path: str | os.PathLike[str], vocab_size: int, special_tokens: list[str]
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Learn a vocabulary and its merges from a text.

    The text is cut at its special tokens, of which nothing is learnt, and then into words by the
    pattern of `tokenizer.py`. The tokens of a word are at first the bytes of its UTF-8. Then, again
    and again: count how often each pair of neighbours stands in the words of the text; make the
    most frequent pair one token, wherever a word has it. Of several that are equally frequent the
    greatest is taken, as Python compares tuples of bytes: (b"b", b"a") is greater than
    (b"a", b"z").

    The vocabulary holds the 256 bytes, the special tokens, and what was merged, `vocab_size` tokens
    in all; fewer if nothing is left to merge. Their ids are 0, 1, 2, ..., in any order. The merges
    stand in the order in which they were learnt.

    Of `low low low low low lower lower widest widest widest newest newest newest newest newest
    newest` the first merges are s + t, e + st, o + w, l + ow, w + est, n + e, ne + west.

    Ask yourself:
    * Which counts change when a pair is merged, and which do not?
    * How often does your program go through the whole text?
    """
    raise NotImplementedError("train_bpe is not written yet")
