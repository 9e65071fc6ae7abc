"""The pytest plugin of a student's own machine: it lays out the bench, and reports."""

from __future__ import annotations

import pytest

from grader.assignment import BadAssignment
from grader.home.bench import home_bench
from grader.home.report import HomeReport
from grader.testing.plugin import BENCH


def pytest_configure(config: pytest.Config) -> None:
    """Lays out the bench for whoever ran `pytest`."""
    try:
        bench, cases = home_bench(config.rootpath)
    except BadAssignment as problem:
        raise pytest.UsageError(str(problem)) from None
    config.stash[BENCH] = bench
    report = HomeReport(config.rootpath, bench, cases, config.get_verbosity() > 0)
    config.pluginmanager.register(report, "grader-home-report")
