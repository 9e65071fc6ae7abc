"""The workflow by which GitHub runs the public tests on every push of a student."""

from __future__ import annotations

PLACE = ".github/workflows/public-tests.yml"
_WORKFLOW = """\
# Runs the tests that you have at home, on every push. Your grade comes from your course.
name: public tests
on: [push, workflow_dispatch]
permissions:
  contents: read
jobs:
  tests:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
          cache: pip
          cache-dependency-path: pyproject.toml
      - run: pip install {constraints}--editable .
      - run: pytest
"""


def students_workflow(constraints: str | None) -> str:
    """The workflow's text; `constraints` names the file that pins what pip installs, if any."""
    return _WORKFLOW.format(constraints=f"--constraint {constraints} " if constraints else "")
