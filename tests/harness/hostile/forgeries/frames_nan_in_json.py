"""Sends numbers that JSON does not have."""

from accomplice import answer, frame, send


def run_double(x):
    work = b'{"raised":null,"changed_inputs":[],"uses":[],"work":[NaN,Infinity]}'
    send(frame(work, {"value": float("nan")}))


def run_count(x):
    send(answer({"value": float("nan")}))
