"""Never returns."""


def run_double(x):
    while True:
        pass


def run_count(x):
    return x.numel()
