"""Answers every call twice, so that later calls get earlier answers."""

from accomplice import answer, send, zeros


def run_double(x):
    entry, payload = zeros(*x.shape)
    send(answer({"value": entry}, payload))
    return x.detach() * 0


def run_count(x):
    send(answer({"value": 0}))
    return 0
