"""Part 10, the tokenizer's training: which pairs of tokens a text merges most."""

import os


def train_bpe(
    input_path: str | os.PathLike[str], vocab_size: int, special_tokens: list[str]
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Learn a vocabulary and its merges from a text."""
    raise NotImplementedError("train_bpe is not written yet")
