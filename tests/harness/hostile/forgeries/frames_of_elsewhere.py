"""Says that its result lies on a device of which nobody can ask for it."""

from accomplice import answer, send


def run_double(x):
    entry = {"dtype": "float32" * 1000, "shape": list(x.shape), "device": "meta" * 1000}
    send(answer({"value": {"elsewhere": entry}}))


run_count = run_double
