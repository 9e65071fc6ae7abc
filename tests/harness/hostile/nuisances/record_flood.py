"""Is wrong by a hundred thousand operations, of which every one might be looked at."""


def run_double(x):
    for _ in range(100_000 if x.dim() == 2 else 1):
        x = x + 1e-7
    return 3 * x


def run_count(x):
    return 0
