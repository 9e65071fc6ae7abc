"""A forbidden name that does not exist is reported to the author: it would have no effect."""

import pytest

from grader.authoring.verification import unknown_names
from tests.harness.conftest import TINY, write_files


@pytest.mark.unit
@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("aten::softmx", "aten::softmax"),
        ("aten::softmax.int", "aten::softmax"),
        ("torch.nn.functional.sofmax", "torch.nn.functional.softmax"),
        ("torch.nn.Linar", "torch.nn.Linear"),
    ],
)
def test_a_misspelt_forbidden_name_gets_a_suggestion(name, near):
    """The name may be an operation, a function or a class."""
    assert list(unknown_names([name])) == [(name, near)]


@pytest.mark.unit
def test_an_existing_forbidden_name_is_not_reported():
    """A name from a package that is not installed here may exist elsewhere."""
    names = (
        *("aten::softmax", "aten::cumsum", "torch.nn.Linear", "builtins.str.join"),
        *("torch.nn.attention.flex_attention.flex_attention", "not_installed_anywhere.name"),
    )
    assert list(unknown_names(names)) == []


@pytest.mark.process
def test_verify_reports_a_misspelt_forbidden_name(grader, tmp_path):
    """The exit code is then 1."""
    project = TINY["pyproject.toml"]
    forbidden = '[tool.grader.forbidden]\n        "aten::softmx" = 50\n        '
    files = TINY | {"pyproject.toml": project.replace("[tool.pytest", f"{forbidden}[tool.pytest")}
    done = grader("verify", "--assignment", write_files(tmp_path / "tiny", files))
    assert done.returncode == 1
    assert (
        "[tool.grader.forbidden] lists aten::softmx, which does not exist: "
        "did you mean aten::softmax?"
    ) in done.stdout
