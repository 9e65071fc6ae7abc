"""Sends numbers that JSON does not have."""

from accomplice import answer, frame, send


def run_double(x):
    work = b'{"raised":null,"changed_inputs":[],"uses":[],"work":[NaN,Infinity]}'
    send(frame(b"[" + work + b',{"value":NaN}]'))


def run_count(x):
    send(answer({"value": float("nan")}))
