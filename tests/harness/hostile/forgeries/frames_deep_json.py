"""Sends JSON that is nested a hundred thousand deep."""

from accomplice import frame, send


def run_double(x):
    send(frame(b'{"header":' + b"[" * 100_000 + b"]" * 100_000 + b',"values":{}}'))


def run_count(x):
    send(frame(b'{"header":{},"values":' + b'{"a":' * 90_000 + b"1" + b"}" * 90_000 + b"}"))
