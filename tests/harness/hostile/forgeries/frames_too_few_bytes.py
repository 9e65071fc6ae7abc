"""Describes hundreds of tensors, and sends the bytes of one."""

from accomplice import answer, send, zeros


def run_double(x):
    entry, payload = zeros(1 << 18)
    send(answer({f"gradient.{number}": entry for number in range(500)}, payload))


run_count = run_double
