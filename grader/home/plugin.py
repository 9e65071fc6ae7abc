"""The pytest plugin of a student's own machine: it lays out the bench, and reports."""

from __future__ import annotations

import pytest

from grader.core.assignment import BadAssignment
from grader.home.bench import home_bench
from grader.home.greeting import Greeting
from grader.home.reasons import Reasons
from grader.home.repair import QUICK, UNHURRIED
from grader.home.report import HomeReport
from grader.home.several_processes import SeveralProcesses
from grader.home.summary import Folding, Summary
from grader.testing.plugin import BENCH, CALL_TIMEOUT, LOCATE

# Of a tensor that is no parameter; what comes of it is told in a line, and this takes nine.
_OF_GRADIENTS = "ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning"


def pytest_configure(config: pytest.Config) -> None:
    """Lays out the bench for whoever ran `pytest`."""
    seconds = config.getoption(CALL_TIMEOUT, default=None)
    if any(config.getoption(name, default=False) for name in ("usepdb", "trace")):
        seconds = 0.0
    try:
        home = home_bench(config.rootpath, seconds)
    except BadAssignment as problem:
        raise pytest.UsageError(str(problem)) from None
    config.stash[BENCH] = home.bench
    config.addinivalue_line("filterwarnings", _OF_GRADIENTS)
    patience = UNHURRIED if config.getoption(LOCATE, default=False) else QUICK
    verbose = config.get_verbosity() > 0
    reasons = Reasons(config.rootpath, home, patience)
    report = HomeReport(config.rootpath, home, verbose, reasons)
    folding = Folding(verbose)
    summary = Summary(folding, home.exercises, report.tallies, report.notes)
    for name, plugin in {
        "report": report,
        "folding": folding,
        "summary": summary,
        "several-processes": SeveralProcesses(),
        "greeting": Greeting(home.exercises),
    }.items():
        config.pluginmanager.register(plugin, f"grader-home-{name}")
