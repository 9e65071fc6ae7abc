"""The pytest plugin of a student's own machine: it lays out the bench, and reports."""

from __future__ import annotations

import pytest

from grader.assignment import BadAssignment
from grader.home.bench import home_bench
from grader.home.greeting import Greeting
from grader.home.mending import QUICK, UNHURRIED
from grader.home.report import HomeReport
from grader.home.several_processes import SeveralProcesses
from grader.testing.plugin import BENCH, LOCATE


def pytest_configure(config: pytest.Config) -> None:
    """Lays out the bench for whoever ran `pytest`."""
    try:
        home = home_bench(config.rootpath)
    except BadAssignment as problem:
        raise pytest.UsageError(str(problem)) from None
    config.stash[BENCH] = home.bench
    patience = UNHURRIED if config.getoption(LOCATE, default=False) else QUICK
    report = HomeReport(config.rootpath, home, config.get_verbosity() > 0, patience)
    config.pluginmanager.register(report, "grader-home-report")
    config.pluginmanager.register(SeveralProcesses(home), "grader-home-several-processes")
    config.pluginmanager.register(Greeting(home.exercises), "grader-home-greeting")
