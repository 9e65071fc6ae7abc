"""Sends integers of a hundred thousand digits, and some that only just pass."""

from accomplice import answer, frame, send


def run_double(x):
    send(frame(b'{"header":{"work":[' + b"9" * 100_000 + b',1]},"values":{}}'))


def run_count(x):
    send(answer({"value": {"plain": 10**4000}}))
