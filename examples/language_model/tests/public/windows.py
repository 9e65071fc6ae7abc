"""What the tests of batches share."""

import itertools
import math
from collections import Counter

import torch

# In a text of this length hardly ever does a window begin at its end, which other tests look at.
LONG = 20_000


def dataset_of(draw, size):
    """A text in which each token stands once, so that a window tells where it begins."""
    return draw.permutation(size).numpy()


def windows_of(student, dataset, length, batches, count):
    """The windows of several batches, a list for each.

    No batch is larger than the text has windows, so that none need come twice in a batch.
    """
    seeded = map(student.seeded, range(batches))
    return [batch(dataset, count, length, "cpu")[0] for batch in seeded]


def starts_of(dataset, windows):
    """Where in the text each window begins; an assertion that each is a part of the text."""
    places = {int(token): place for place, token in enumerate(dataset)}
    size, length = len(dataset), windows.shape[1]
    found = []
    for row, window in enumerate(windows.tolist()):
        start = places.get(window[0], size)
        right = dataset[start : start + length].tolist()
        assert window == right, f"window {row} is no part of the text: {_first(window, right)}"
        found.append(start)
    return found


def assert_only_window(student, dataset):
    """In each of forty calls the window of a text with room for one begins with its first token."""
    for number in range(40):
        windows, targets = student.seeded(number)(dataset, 1, len(dataset) - 1, "cpu")
        (start,) = starts_of(dataset, windows)
        assert not start, "the window does not begin with the first token, the only place for it"
        assert_follow(dataset, windows, targets)


def assert_follow(dataset, windows, targets):
    """Each target is the token that comes next in the text."""
    places = {int(token): place for place, token in enumerate(dataset)}
    for row, (window, target) in enumerate(zip(windows.tolist(), targets.tolist(), strict=True)):
        right = [int(dataset[places[token] + 1]) for token in window]
        assert target == right, (
            f"the targets of window {row} are not the tokens that come next: "
            f"{_first(target, right)}; the window is {_shown(window)}, its targets are "
            f"{_shown(target)}"
        )


def assert_uniform(starts, possible, said="begin at {start}", first=0):
    """Whether windows begin equally often at every place from `first` to the last possible one.

    Each count is binomial. By Bernstein's inequality, one of them is farther from its mean than
    is allowed here with a probability of less than one in a thousand million; that bound is below
    the mean, so that what never comes is seen, from some 70 draws for each place on.
    """
    counts, drawn = Counter(starts), len(starts)
    beyond = [start for start in counts if not first <= start < possible]
    assert not beyond, (
        f"a window begins at {beyond[0]}, and the last possible start is {possible - 1}"
    )
    places = possible - first
    drawn_by_itself = f"drawn by itself, each of {first} to {possible - 1} is equally likely"
    all_alike = f"all {drawn} windows {said.format(start=starts[0])}: {drawn_by_itself}"
    assert len(counts) > 1 or places == 1, all_alike
    mean = drawn / places
    risk = math.log(2 * places / 1e-9)
    allowed = risk / 3 + math.sqrt(risk**2 / 9 + 2 * risk * mean * (1 - 1 / places))
    for start in range(first, possible):
        count = counts[start]
        assert abs(count - mean) <= allowed, (
            f"{count} of {drawn} windows {said.format(start=start)}, where about {mean:.0f} "
            f"should: {drawn_by_itself}"
        )


def assert_independent(batches, possible):
    """Whether the start of a window tells nothing of the next one's: how far they are apart.

    Places are counted around the end of the text.
    No two windows of a batch are the same where each is drawn once.
    """
    pairs = itertools.chain.from_iterable(map(itertools.pairwise, batches))
    apart = [(after - before) % possible for before, after in pairs]
    drawn_once = all(len(set(starts)) == len(starts) for starts in batches)
    said = "begin {start} places after the one before in their batch, counted around the end"
    assert_uniform(apart, possible, said, first=1 if drawn_once else 0)


def assert_long(windows, targets):
    """Token ids are of the dtype that an embedding and a loss want."""
    for name, tensor in (("windows", windows), ("targets", targets)):
        assert tensor.dtype is torch.int64, (
            f"the {name} are {str(tensor.dtype).removeprefix('torch.')}: token ids are int64 in "
            "torch, whatever the dtype of the text is"
        )


def _first(got, wanted):
    pairs = enumerate(zip(got, wanted, strict=False))
    place = next((number for number, (one, other) in pairs if one != other), 0)
    if not wanted:
        return f"token {place} is {got[place]}, which the text does not hold"
    return f"token {place} is {got[place]}, where the text goes on with {wanted[place]}"


def _shown(tokens):
    return f"[{', '.join(map(str, tokens[:8]))}{', ...' if len(tokens) > 8 else ''}]"
