"""Says that it imported ten thousand adapters, then that a problem of the grader's came up."""

from accomplice import answer, exception, imported, send

problem = exception("ForkServerLost", "not graded")
names = ["run_double", "run_count", *(f"run_{number}" for number in range(10_000))]
send(imported(*names))
for _ in range(10):
    send(answer({"value": 0}, raised=problem))


def run_double(x):
    return None


run_count = run_double
