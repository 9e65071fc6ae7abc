"""The contract at home: it comes from the handout, whatever students change in their adapters."""

import re
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def handout(attention_handout, tmp_path_factory) -> Path:
    """The handout of the attention assignment."""
    folder = tmp_path_factory.mktemp("handout") / "attention"
    return Path(shutil.copytree(attention_handout, folder))


def softmax_with(handout: Path, folder: Path, signature: str, call: str) -> Path:
    """Returns a copy of the handout whose only adapter is an unannotated or changed softmax."""
    mine = Path(shutil.copytree(handout, folder))
    (mine / "adapters.py").write_text(f"import torch\n\n\ndef {signature}:\n    return {call}\n")
    return mine


def test_adapters_without_annotations_still_report_a_wrong_shape(handout, tmp_path, home_pytest):
    """The course's types still apply to an adapter whose annotations were removed."""
    mine = softmax_with(
        handout, tmp_path / "mine", "run_softmax(in_features, dim)", "in_features.sum(dim)"
    )
    printed = home_pytest(mine, "tests/public/test_softmax.py").stdout
    assert "run_softmax must return shape" in printed


def test_a_renamed_adapter_parameter_fails_at_home(handout, tmp_path, home_pytest):
    """Tests call adapters by keyword, with the names in the handout."""
    mine = softmax_with(handout, tmp_path / "mine", "run_softmax(x, dim)", "torch.softmax(x, dim)")
    printed = home_pytest(mine, "tests/public/test_softmax.py").stdout
    assert "yours is run_softmax(x, dim) in adapters.py" in printed


@pytest.mark.slow
def test_a_removed_adapter_counts_as_missing(handout, tmp_path, home_pytest):
    """The other adapters are graded."""
    mine = softmax_with(
        handout, tmp_path / "mine", "run_softmax(in_features, dim)", "in_features.softmax(dim)"
    )
    printed = home_pytest(mine).stdout
    assert re.search(r"run_softmax +(\d+) of \1 passed", printed)
    assert "7 passed, 83 missing" in printed
