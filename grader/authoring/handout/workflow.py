"""The workflow by which GitHub runs the public tests on every push of a student."""

from __future__ import annotations

from grader.authoring.handout.installing import REQUIREMENTS

PLACE = ".github/workflows/public-tests.yml"
# uv, unlike pip, knows where torch's builds without GPU libraries are.
WORKFLOW = f"""\
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
      - run: pip install uv
      - run: uv pip install --system --torch-backend cpu -r {REQUIREMENTS}
      - run: pytest
"""
