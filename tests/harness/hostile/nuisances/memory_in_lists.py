"""Keeps one and a half gigabytes of numbers and texts."""

kept = []


def run_double(x):
    while len(kept) < 1500:
        kept.append(bytes([len(kept) % 256]) * (1 << 20))
    return None


def run_count(x):
    return x.numel()
