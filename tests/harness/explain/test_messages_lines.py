"""The line in a message where nothing raised: it returned, converted or detached the result."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from grader.core.verdict import Aspect, Visibility
from grader.core.wire.calls import Call, Traced
from grader.explain.step_roles import parsed_statement
from grader.testing.assertions import assert_matches
from grader.testing.outcome import Observations
from grader.testing.suite import Test
from grader.worker.performing import perform

pytestmark = pytest.mark.unit

LAYER = "    layer = nn.Linear(3, 3)\n"
NOWHERE = (Traced.GRADIENT, None)
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


def traced(function, what: Traced, root: Path) -> int | None:
    """Returns the line that is behind the function's result for float32[2, 3]."""
    wanted = {"wrt": ("x",), "cotangent": torch.ones(2, 3)} if what is Traced.GRADIENT else {}
    call = Call("run", {"x": torch.ones(2, 3)}, trace=what, **wanted)
    answer = perform(function, call, root)
    assert answer.raised is None, answer.raised
    return None if answer.origin is None else answer.origin.line


@pytest.mark.parametrize(
    ("body", "what", "line"),
    [
        ("    y = 2 * x\n    return y.half()", Traced.DTYPE, FIRST + 1),
        ("    y = 2 * x.double()\n    return y + 1", Traced.DTYPE, FIRST),
        ("    y = x.argmax(-1)\n    return y", Traced.DTYPE, FIRST),
        ("    y = (x > 0).float()\n    return y > 1", Traced.DTYPE, FIRST + 1),
        ("    y = 2 * x\n    return y, x", Traced.TYPE, FIRST + 1),
        ("    y = 2 * x\n    print(y)", Traced.TYPE, FIRST + 1),
        ("    return inner(x)\ndef inner(x):\n    return [x]", Traced.TYPE, FIRST + 2),
        ("    return inner(x)\ndef inner(x):\n    2 * x", Traced.TYPE, FIRST + 2),
        ("    y = x.detach()\n    return 2 * y", Traced.GRADIENT, FIRST),
        ("    with torch.no_grad():\n        return 2 * x", Traced.GRADIENT, FIRST),
        (
            "    return inner(x)\n@torch.no_grad()\ndef inner(x):\n    return 2 * x",
            Traced.GRADIENT,
            FIRST + 1,
        ),
        ("    y = torch.tensor(x)\n    return y", Traced.GRADIENT, FIRST),
        # Where it ends behind a value that no operation of torch carries on, a constant is not it.
        (
            "    y = x - x.amax().detach()\n    return torch.tensor(y.tolist())",
            Traced.GRADIENT,
            None,
        ),
        (
            "    y = x - x.amax().detach()\n    return torch.tensor(y.detach().tolist())",
            Traced.GRADIENT,
            None,
        ),
        (
            "    y = x.detach()\n    w = torch.ones(2, 3, requires_grad=True)\n"
            "    return torch.from_numpy(y.numpy()) * w",
            Traced.GRADIENT,
            None,
        ),
        (
            "    y = x - x.detach().amax().item()\n    return torch.tensor(y.tolist())",
            Traced.GRADIENT,
            None,
        ),
        (
            "    def scores(w):\n        y = x @ w\n        z = y.detach()\n        return 2 * z\n"
            "    return torch.vmap(scores)(torch.ones(1, 3, 3))[0]",
            Traced.GRADIENT,
            None,
        ),
        ("    y = torch.zeros_like(x)\n    y.data[:] = 2 * x\n    return y", Traced.GRADIENT, None),
        (
            "    y = torch.zeros_like(x)\n    y[:] = x.detach()\n    return y",
            Traced.GRADIENT,
            None,
        ),
        (
            "    y = x.detach()\n    z = x.amax().detach()\n    return y - z",
            Traced.GRADIENT,
            None,
        ),
        (
            "    z = x.amax().detach()\n    y = (x - z).detach()\n    return 2 * y",
            Traced.GRADIENT,
            FIRST + 1,
        ),
        (
            "    y = x.detach()\n    z = x.amax().detach()\n    return torch.exp(2 * y)",
            Traced.GRADIENT,
            FIRST,
        ),
        # A parameter's gradient is not that of the input.
        (f"{LAYER}    layer.bias.data.zero_()\n    return layer(torch.ones(2, 3))", *NOWHERE),
        (f"{LAYER}    y = layer(torch.ones(2, 3))\n    return y - y.detach()", *NOWHERE),
        (f"{LAYER}    y = layer(x.detach())\n    return y - y.data", Traced.GRADIENT, FIRST + 1),
        (
            f"{LAYER}    y = torch.zeros(2, 3)\n    y[:] = x\n    layer.bias.data.zero_()\n"
            "    return layer(y.detach())",
            Traced.GRADIENT,
            FIRST + 4,
        ),
    ],
)
def test_a_result_is_traced_to_the_line_that_caused_it(program, tmp_path, body, what, line):
    """The line converts, returns or cuts the gradient; another line may notice it."""
    assert traced(program(body), what, tmp_path) == line


@pytest.mark.parametrize("text", ["print(x\0)", "-" * 50_000 + "x", "x = 1; y = 2", "print("])
def test_an_invented_source_line_is_no_statement(text):
    """A worker may send any text as the line that it ran."""
    assert parsed_statement(text) is None


def test_a_verdict_hides_the_expected_shape():
    """The expected shape is shown only for public inputs."""
    about = "One row for each."
    test = Test("test", "run", Aspect.VALUES, 1.0, Visibility.PUBLIC, about)
    with pytest.raises(AssertionError) as caught:
        assert_matches(torch.ones(18), torch.ones(18, 18))
    assert "[18, 18]" in str(caught.value)
    verdict = test.ended(caught.value, Observations())
    assert verdict.message == f"does not hold: {about}"
