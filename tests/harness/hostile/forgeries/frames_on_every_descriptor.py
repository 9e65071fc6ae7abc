"""Writes answers on every descriptor, when it is imported and when it is called."""

from accomplice import answer, loaded, send, zeros

entry, payload = zeros(2, 3)
send(loaded(), range(256))
send(answer({"value": entry}, payload), range(256))


def run_double(x):
    entry, payload = zeros(*x.shape)
    send(answer({"value": entry}, payload, status="passed"), range(256))
    return None


def run_count(x):
    send(answer({"value": 0}), range(256))
    return None
