"""The pytest plugin on a student's machine: sets up the bench and the reports."""

from __future__ import annotations

import pytest

from grader.core.assignment import BadAssignment
from grader.home.bench import home_bench
from grader.home.causes import Reasons
from grader.home.repair import QUICK, UNHURRIED
from grader.home.report import HomeReport
from grader.home.summary import Folding, Summary
from grader.testing.plugin import BENCH, CALL_TIMEOUT, LOCATE

# The warning takes nine rows; the failure that follows says the same in one.
_IGNORED_WARNING = "ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning"


def pytest_configure(config: pytest.Config) -> None:
    """Sets up the bench, and registers the plugins that report to the student."""
    seconds = config.getoption(CALL_TIMEOUT, default=None)
    debugs = any(config.getoption(name, default=False) for name in ("usepdb", "trace"))
    seconds = 0.0 if debugs else seconds
    try:
        home = home_bench(config.rootpath, seconds)
    except BadAssignment as problem:
        raise pytest.UsageError(str(problem)) from None
    home.calls.keeps_raised = debugs
    config.stash[BENCH] = home.bench
    config.addinivalue_line("filterwarnings", _IGNORED_WARNING)
    patience = UNHURRIED if config.getoption(LOCATE, default=False) else QUICK
    verbose = config.get_verbosity() > 0
    # Versions and folders would take five rows of the screen.
    config.option.no_header = config.option.no_header or not verbose
    reasons = Reasons(config.rootpath, home, patience)
    report = HomeReport(config.rootpath, home, verbose, reasons)
    folding = Folding(verbose)
    order = list(home.exercises)
    counts, notes = report.exercise_counts, report.notes
    summary = Summary(folding, order, counts, notes, home.worth)
    for name, plugin in {"report": report, "folding": folding, "summary": summary}.items():
        config.pluginmanager.register(plugin, f"grader-home-{name}")
