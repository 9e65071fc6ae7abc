"""The references."""

import itertools
from collections import Counter
from pathlib import Path

import torch

from adapters import Split


def run_counts(text):
    return dict(Counter(text.split()))


def run_tokens(data):
    return list(data)


def run_pairs(ids):
    return list(itertools.pairwise(ids))


def run_split(corpus, share):
    at = int(len(corpus) * share)
    return Split(corpus[:at], corpus[at:], share)


def run_layers(weights, x):
    scale, shift = weights["scale"], weights["shift"]
    return x * scale + shift, {"scale": scale, "shift": shift}


def run_vocabulary(words, special=None):
    return {word.encode() for word in (*words, *(special or ()))}


def run_rate(step, kind, floor):
    rate = 1.0 if kind == "constant" else 1 / (step + 1)
    return rate if floor is None else max(rate, floor)


def run_precision(name, device):
    dtype = getattr(torch, name)
    return dtype, device.type == "cuda" or dtype is torch.float32


def run_merges(merges):
    return [left + right for left, right in sorted(merges, key=merges.get)]


def run_gains(losses):
    if len(losses) < 2:
        return None
    return [before - after for before, after in itertools.pairwise(losses)]


class Tokenizer:
    def __init__(self, alphabet):
        self.alphabet = alphabet
        self.size = len(alphabet)

    def encode(self, text):
        return [self.alphabet.index(character) for character in text]

    def encode_each(self, texts):
        for text in texts:
            yield from self.encode(text)

    def decode(self, ids):
        return "".join(self.alphabet[number] for number in ids)


def get_tokenizer(alphabet):
    return Tokenizer(alphabet)


class Optimizer:
    def __init__(self, parameters, rate, momentum):
        self.parameters = parameters
        self.rate = rate
        self.momentum = momentum
        self.velocities = [torch.zeros_like(one) for one in parameters]

    @torch.no_grad()
    def step(self):
        for parameter, velocity in zip(self.parameters, self.velocities, strict=True):
            if parameter.grad is not None:
                velocity.mul_(self.momentum).add_(parameter.grad)
                parameter.sub_(self.rate * velocity)


def get_optimizer_class():
    return Optimizer


def run_clipping(parameters, largest):
    for parameter in parameters:
        if parameter.grad is not None:
            top = parameter.grad.abs().max()
            if top > largest:
                parameter.grad.mul_(largest / top)


def run_save(model, optimizer, iteration, out):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state | {"iteration": iteration}, out)


def run_load(src, model, optimizer):
    state = torch.load(src, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["iteration"]


def run_most_common(path):
    ((character, count),) = Counter(Path(path).read_text("utf-8")).most_common(1)
    return character, count


def run_lengths(lines):
    for line in lines:
        yield len(line.rstrip("\n"))


def run_windows(corpus, length, count):
    starts = torch.randint(len(corpus) - length + 1, (count, 1))
    return corpus[starts + torch.arange(length)]


def run_training(model, optimizer, x, y):
    while True:
        loss = (model(x) - y).square().mean()
        yield loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run_primes(start):
    for number in itertools.count(max(start, 2)):
        if all(number % other for other in range(2, number)):
            yield number
