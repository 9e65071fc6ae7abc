"""Answers with a text of which Python takes four times as many bytes as cross."""

TEXT = "\U0001f600" + "a" * (32 << 20)


def run_double(x):
    return TEXT


def run_count(x):
    return x.numel()
