"""Sends numbers that JSON does not have."""

from accomplice import answer, frame, send


def run_double(x):
    work = b'{"raised":null,"changed_inputs":[],"uses":[],"work":[NaN,Infinity]}'
    send(frame(b'{"header":' + work + b',"values":{"value":{"plain":NaN}}}'))


def run_count(x):
    send(answer({"value": {"plain": float("nan")}}))
