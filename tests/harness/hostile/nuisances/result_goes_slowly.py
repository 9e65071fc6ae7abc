"""Answers with what never lets go of itself: it is asked to end, and loops."""


class Clinging:
    def __init__(self, value):
        self.value = value

    def __iter__(self):
        return iter([self.value])

    def __del__(self):
        while True:
            pass


def run_double(x):
    return Clinging(2 * x)


def run_count(x):
    return x.numel()
