"""The functions and fixtures with which an author writes an assignment's tests.

A test calls `student` and `reference` on inputs from `draw`, and asserts:

    @exercise("run_softmax")
    def test_matches_reference(student, reference, draw):
        x = draw(2, 5)
        assert_matches(student(x, dim=-1), reference(x, dim=-1))
"""

import sys
from pathlib import Path


def not_installed(missing: ModuleNotFoundError) -> str:
    """Returns advice for a student who runs another Python than the assignment's."""
    return (
        f"{missing.name} is not installed for this Python, {sys.executable}: run the pytest of "
        "the environment into which you installed the assignment, such as .venv/bin/pytest"
    )


def hiding_file() -> str:
    """Returns advice for a student who has a file `torch.py`; "" if there is none."""
    # The package itself is a folder.
    file = getattr(sys.modules.get("torch"), "__file__", None) or ""
    is_hidden = Path(file).name == "torch.py"
    return f"your file {file} hides the package torch: give it another name" if is_hidden else ""


def no_assertions() -> str:
    """Returns advice if Python leaves out assertions, so that no test can fail; else ""."""
    is_without = sys.flags.optimize > 0
    return "Python runs without assertions: unset PYTHONOPTIMIZE, or leave out -O" * is_without


try:
    from grader.testing.assertions import (
        assert_gradients_match,
        assert_inputs_unchanged,
        assert_keeps_dtype,
        assert_matches,
        assert_runs_on_another_device,
        assert_same_answer_twice,
        assert_work_does_not_grow,
    )
    from grader.testing.comparison import (
        BFLOAT16,
        FLOAT16,
        FLOAT32,
        Tolerance,
        assert_distribution,
    )
    from grader.testing.exercise import aspect, exercise
except (AttributeError, ImportError) as problem:
    advice = hiding_file()
    if not advice and isinstance(problem, ModuleNotFoundError):
        advice = not_installed(problem)
    if not advice:
        raise
    sys.exit(advice)

__all__ = [
    "BFLOAT16",
    "FLOAT16",
    "FLOAT32",
    "Tolerance",
    "aspect",
    "assert_distribution",
    "assert_gradients_match",
    "assert_inputs_unchanged",
    "assert_keeps_dtype",
    "assert_matches",
    "assert_runs_on_another_device",
    "assert_same_answer_twice",
    "assert_work_does_not_grow",
    "exercise",
]
