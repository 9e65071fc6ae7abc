"""One plain test of each exercise."""

import pytest
import torch

from grader.testing.assertions import assert_inputs_unchanged, assert_matches
from grader.testing.exercise import exercise


@exercise("run_counts")
def test_counts(student, reference, draw):
    """Words that stand there several times."""
    text = " ".join(draw.text(1, "abc") for _ in range(12))
    assert_matches(student(text), reference(text))


@exercise("run_tokens")
@pytest.mark.parametrize("size", [3, 50])
def test_tokens(student, reference, draw, size):
    """Bytes of every value."""
    data = bytes(draw.integers(0, 256, size).tolist())
    assert_matches(student(data), reference(data))


@exercise("run_pairs")
def test_pairs(student, reference, draw):
    """Neighbours."""
    ids = draw.integers(0, 100, 20).tolist()
    assert_matches(student(ids), reference(ids))


@exercise("run_split")
def test_split(student, reference, draw):
    """Numbers of two bytes, as token files hold them."""
    corpus = draw.integers(0, 60000, 30).numpy().astype("uint16")
    assert_matches(student(corpus, 0.7), reference(corpus, 0.7))


@exercise("run_layers")
def test_layers(student, reference, draw):
    """A state dict."""
    weights = {"scale": draw(4), "shift": draw(4)}
    x = draw(3, 4)
    assert_matches(student(weights, x), reference(weights, x))
    assert_inputs_unchanged(student, weights, x)


@exercise("run_vocabulary")
@pytest.mark.parametrize("special", [None, ("<end>",)])
def test_vocabulary(student, reference, draw, special):
    """With special tokens and without."""
    words = [draw.text(3, "aeiouäß\N{PILE OF POO}") for _ in range(4)]
    assert_matches(student(words, special), reference(words, special))


@exercise("run_rate")
@pytest.mark.parametrize("kind", ["linear", "constant"])
def test_rate(student, reference, draw, kind):
    """With a floor and without."""
    step = int(draw.integers(3, 50))
    assert_matches(student(step, kind, None), reference(step, kind, None))
    assert_matches(student(step, kind, 0.25), reference(step, kind, 0.25))


@exercise("run_precision")
def test_precision(student, reference):
    """Dtypes and devices are values as well."""
    for name in ("float16", "float32"):
        device = torch.device("cpu")
        assert_matches(student(name, device), reference(name, device))


@exercise("run_merges")
def test_merges(student, reference, draw):
    """Keys that are pairs of bytes."""
    ranks = draw.permutation(6).tolist()
    merges = {(bytes([97 + n]), bytes([98 + n])): rank for n, rank in enumerate(ranks)}
    assert_matches(student(merges), reference(merges))


@exercise("run_gains")
def test_gains(student, reference, draw):
    """Of several losses, and of one."""
    losses = draw.uniform(12).tolist()
    assert_matches(student(losses), reference(losses))
    assert_matches(student(losses[:1]), reference(losses[:1]))
