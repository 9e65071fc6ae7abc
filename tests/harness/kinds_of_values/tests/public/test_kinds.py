"""One plain test of each exercise."""

import itertools

import pytest
import torch

from grader.testing import assert_distribution, assert_inputs_unchanged, assert_matches
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
    weight = handle.parameter(start)
    optimizer = optimizer_class([weight], rate=0.1, momentum=0.9)
    for gradient in gradients:
        weight.grad = gradient
        optimizer.step()
        yield weight.value


@exercise("get_optimizer_class")
@pytest.mark.parametrize("steps", [3, 4])
def test_optimizer(student, reference, draw, steps):
    """Step by step, so that the first wrong one is told."""
    start, gradients = draw(3, 2), [draw(3, 2) for _ in range(steps)]
    both = [trained(handle, start, gradients) for handle in (student, reference)]
    for number, (own, right) in enumerate(zip(*both, strict=True), 1):
        assert_matches(own, right, what=f"the parameter after step {number}")


def clipped(handle, numbers, gradients, largest):
    """The gradients after clipping; the last parameter has none."""
    weights = [handle.parameter(*both) for both in zip(numbers, gradients, strict=True)]
    frozen = handle.parameter(numbers[0], requires_grad=False)
    assert handle([*weights, frozen], largest) is None
    return [one.grad for one in [*weights, frozen]]


@exercise("run_clipping")
@pytest.mark.parametrize("largest", [1.5, 0.25])
def test_clipping(student, reference, draw, largest):
    """Large and small gradients, and none."""
    numbers, gradients = [draw(3, 2), draw(4)], [draw(3, 2, scale=9.0), draw.uniform(4)]
    both = [clipped(handle, numbers, gradients, largest) for handle in (student, reference)]
    for own, right in zip(*both, strict=True):
        assert_matches(own, right, what="the gradient")


def stepped(handle, layers, gradient):
    """A module of which one weight was moved, and its optimizer."""
    module = handle.module(layers)
    optimizer = handle.optimizer("AdamW", module, lr=0.1, betas=(0.8, 0.95))
    module.parameter("0.weight").grad = gradient
    optimizer.step()
    return module, optimizer


@exercise("run_save")
@pytest.mark.parametrize("form", ["path", "str", "stream"])
def test_save(student, reference, draw, form):
    """What is saved can be loaded, by the submission's own function."""
    layers = draw.module(
        torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2), torch.nn.GELU())
    )
    gradient, iteration = draw(2, 3), int(draw.integers(5, 500))
    states = []
    for handle in (student, reference):
        file = handle.file(name="checkpoint.pt")
        out = {"path": file, "str": file.as_str, "stream": file.as_stream}[form]
        handle(*stepped(handle, layers, gradient), iteration, out)
        again = handle.module(layers), handle.optimizer("AdamW", handle.module(layers))
        loaded = handle.other("run_load")(file, *again)
        states.append((loaded, again[0].state_dict(), again[1].state_dict()))
    assert_matches(*states)


@exercise("run_load")
@pytest.mark.parametrize("iteration", [17, 2000])
def test_load(student, reference, draw, iteration):
    """The module computes what it computed, the optimizer goes on."""
    layers = draw.module(torch.nn.Sequential(torch.nn.Linear(3, 2)))
    x, gradient = draw(5, 3), draw(2, 3)
    answers = []
    for handle in (student, reference):
        file = handle.file(b"what was there before", "checkpoint.pt")
        handle.other("run_save")(*stepped(handle, layers, gradient), iteration, file)
        module, optimizer = stepped(handle, layers, -gradient)
        told = handle(file.as_stream, module, optimizer)
        module.parameter("0.weight").grad = gradient
        optimizer.step()
        answers.append((told, module(x)))
    assert_matches(*answers)


@exercise("run_most_common")
def test_most_common(student, reference, draw):
    """Of a text that is not ASCII alone."""
    text = draw.text(60, "aou\N{LATIN SMALL LETTER A WITH DIAERESIS}\N{SNOWMAN}") + "o" * 60
    files = [handle.file(text, "corpus.txt") for handle in (student, reference)]
    assert_matches(student(files[0]), reference(files[1]))
    assert files[0].text() == text, "the corpus was written to"


@exercise("run_lengths")
def test_lengths(student, reference, draw):
    """Of an open file, which is read no further than is asked."""
    text = "".join(f"{draw.text(int(draw.integers(1, 9)), 'ab ')}\n" for _ in range(30))
    lengths = [handle(handle.file(text).as_text) for handle in (student, reference)]
    assert_matches(*[list(itertools.islice(own, 12)) for own in lengths])


@exercise("run_windows")
@pytest.mark.parametrize("length", [1, 7])
def test_windows(student, draw, length):
    """Every window is as likely as any other, and each call draws anew."""
    corpus = draw.permutation(20)
    windows = [student.seeded(number)(corpus, length, 400) for number in range(5)]
    assert len({tuple(own[:, 0].tolist()) for own in windows}) > 1, "all calls draw the same"
    place_of = corpus.argsort()
    starts = torch.cat([place_of[own[:, 0]] for own in windows])
    assert_matches(torch.cat(windows), corpus.unfold(0, length, 1)[starts.clamp(max=20 - length)])
    assert_distribution(starts, range(20 - length + 1), what="the starts of windows")


def losses(handle, layers, x, y):
    """The losses of the first steps, and what was learnt by then."""
    model = handle.module(layers)
    optimizer = handle.optimizer("SGD", model, lr=0.05)
    return list(itertools.islice(handle(model, optimizer, x, y), 8)), model.state_dict()


@exercise("run_training")
@pytest.mark.parametrize("width", [3, 5])
def test_training(student, reference, draw, width):
    """Loss by loss; after eight of them seven steps are taken."""
    layers, x = draw.module(torch.nn.Linear(width, 1)), draw(16, width)
    y = x.sum(-1, keepdim=True)
    own, right = losses(student, layers, x, y), losses(reference, layers, x, y)
    assert_matches(own, right)
    assert own[0][-1] < own[0][0], "the loss does not become smaller"


@exercise("run_primes")
def test_primes(student, reference, draw):
    """Only as many are asked for as are wanted."""
    start = int(draw.integers(3, 40))
    first = [list(itertools.islice(handle(start), 7)) for handle in (student, reference)]
    assert_matches(*first)
