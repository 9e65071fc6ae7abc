"""Returns something that never says what it is."""


class Meta(type):
    def __getattribute__(cls, name):
        while True:
            pass


class Result(metaclass=Meta):
    @property
    def __class__(self):
        while True:
            pass


def run_double(x):
    return Result()


def run_count(x):
    return x.numel()
