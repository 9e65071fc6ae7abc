"""The line in a message where nothing raised: it returned, converted or detached the result."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from grader.core.verdict import Aspect, Visibility
from grader.core.wire.calls import Call
from grader.testing.assertions import assert_matches
from grader.testing.outcome import Observations
from grader.testing.suite import Test
from grader.worker.performing import perform

pytestmark = pytest.mark.unit

FIRST = 4  # The line number of the first statement of `run` in these programs.


@pytest.fixture
def program(tmp_path):
    """A function that loads `run(x)` from a file `own.py`, which counts as the submission's own."""

    def load(text: str):
        source = f"import torch\nfrom torch import nn\ndef run(x):\n{text}\n"
        file = tmp_path / "own.py"
        file.write_text(source)
        names: dict[str, object] = {}
        exec(compile(source, str(file), "exec"), names)
        return names["run"]

    return load


def traced(function, root: Path) -> int | None:
    """Returns the line that is behind the function's result for float32[2, 3]."""
    call = Call("run", {"x": torch.ones(2, 3)}, trace=True)
    answer = perform(function, call, root)
    assert answer.raised is None, answer.raised
    return None if answer.origin is None else answer.origin.line


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("    y = 2 * x\n    return y.half()", FIRST + 1),
        ("    y = 2 * x.double()\n    return y + 1", FIRST),
        ("    y = x.argmax(-1)\n    return y", FIRST),
        ("    y = (x > 0).float()\n    return y > 1", FIRST + 1),
        ("    y = 2 * x\n    return y, x", FIRST + 1),
        ("    y = 2 * x\n    print(y)", FIRST + 1),
        ("    return inner(x)\ndef inner(x):\n    return [x]", FIRST + 2),
        ("    return inner(x)\ndef inner(x):\n    2 * x", FIRST + 2),
    ],
)
def test_a_result_is_traced_to_the_line_that_caused_it(program, tmp_path, body, line):
    """The line converts or returns; another line may notice it."""
    assert traced(program(body), tmp_path) == line


def test_a_verdict_hides_the_expected_shape():
    """The expected shape is shown only for public inputs."""
    about = "One row for each."
    test = Test("test", "run", Aspect.VALUES, 1.0, Visibility.PUBLIC, about)
    with pytest.raises(AssertionError) as caught:
        assert_matches(torch.ones(18), torch.ones(18, 18))
    assert "[18, 18]" in str(caught.value)
    verdict = test.ended(caught.value, Observations())
    assert verdict.message == f"does not hold: {about}"
