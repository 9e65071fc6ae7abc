"""Sends integers of a hundred thousand digits, and some that only just pass."""

from accomplice import answer, frame, send


def run_double(x):
    send(frame(b'{"work":[' + b"9" * 100_000 + b",1]}"))


def run_count(x):
    send(answer({"value": 10**4000}))
