"""Messages to the author about a class that the contract cannot use."""

import runpy
from pathlib import Path

import pytest
import torch

from grader.core.assignment import BadAssignment
from grader.testing.contract import CannotCross, kind_of
from grader.testing.course import course_code

pytestmark = pytest.mark.unit


def test_a_torch_class_as_annotation_is_refused_with_the_alternative() -> None:
    """`type[Optimizer]` of torch looks right, but only a Protocol lists the methods to call."""
    with pytest.raises(CannotCross, match=r"type\[Optimizer\] cannot cross.*typing\.Protocol"):
        kind_of(type[torch.optim.Optimizer])


@pytest.mark.parametrize("returned", ["Tokenizer", "type[Tokenizer]"])
def test_a_type_checker_on_a_protocol_adapter_is_refused_with_advice(
    tmp_path: Path, returned: str
) -> None:
    """beartype's own message fills a screen and does not say that the decorator is unnecessary."""
    (tmp_path / "adapters.py").write_text(
        "from typing import Protocol\n\n"
        "from beartype import beartype\nfrom jaxtyping import jaxtyped\n\n"
        "class Tokenizer(Protocol):\n    def encode(self, text: str) -> list[int]: ...\n\n"
        f"@jaxtyped(typechecker=beartype)\ndef get_tokenizer() -> {returned}:\n    ...\n"
    )
    with pytest.raises(BadAssignment) as told, course_code("adapters.py", tmp_path):
        runpy.run_path(str(tmp_path / "adapters.py"), run_name="adapters")
    assert str(told.value) == (
        "adapters.py cannot be used: a type checker cannot check a Protocol: leave out the "
        "decorator of get_tokenizer (@typed); the grader itself checks all that comes back "
        "(adapters.py:9)"
    )
