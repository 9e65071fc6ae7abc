"""One plain test of each exercise."""

import itertools

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


ALPHABET = "abcdefgh\N{SNOWMAN}"


@exercise("get_tokenizer")
def test_tokenizer(student, reference, draw):
    """An object is made once and asked several things."""
    texts = [draw.text(5, ALPHABET) for _ in range(3)]
    own, right = student(ALPHABET), reference(ALPHABET)
    for text in texts:
        assert_matches(own.encode(text), right.encode(text))
    assert_matches(own.size, right.size)
    assert_matches(own.decode([1, 0, 8]), right.decode([1, 0, 8]))
    assert_matches(list(own.encode_each(texts)), list(right.encode_each(texts)))


def trained(handle, start, gradients):
    """The numbers of a parameter after some steps."""
    optimizer_class = handle()
    weight = optimizer_class.parameter(start)
    optimizer = optimizer_class([weight], rate=0.1, momentum=0.9)
    for gradient in gradients:
        weight.grad = gradient
        optimizer.step()
        yield weight.value


@exercise("get_optimizer_class")
def test_optimizer(student, reference, draw):
    """Step by step, so that the first wrong one is told."""
    start, gradients = draw(3, 2), [draw(3, 2) for _ in range(4)]
    both = [trained(handle, start, gradients) for handle in (student, reference)]
    for number, (own, right) in enumerate(zip(*both, strict=True), 1):
        assert_matches(own, right, what=f"the parameter after step {number}")


@exercise("run_primes")
def test_primes(student, reference, draw):
    """Only as many are asked for as are wanted."""
    start = int(draw.integers(3, 40))
    first = [list(itertools.islice(handle(start), 7)) for handle in (student, reference)]
    assert_matches(*first)
