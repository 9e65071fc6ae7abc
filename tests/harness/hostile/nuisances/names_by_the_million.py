"""Has a million adapters, whose names are long."""

NAME = "x" * 200


def run_double(x):
    return 2 * x


def run_count(x):
    return x.numel()


globals().update({f"run_{number}_{NAME}": run_count for number in range(300_000)})
