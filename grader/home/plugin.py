"""The pytest plugin on a student's machine: sets up the bench, the reports and the greeting."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from grader.core.assignment import BadAssignment
from grader.home.bench import home_bench
from grader.home.causes import Reasons
from grader.home.repair import QUICK, UNHURRIED
from grader.home.report import STUB, HomeReport
from grader.home.summary import Folding, Summary
from grader.testing.plugin import BENCH, CALL_TIMEOUT, LOCATE


class Greeting:
    """The pointer to the first unwritten exercise and its place; `exercises` give the order."""

    def __init__(self, exercises: Sequence[str]) -> None:
        self._exercises = exercises

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Writes which exercise comes next, below all else."""
        stats = terminalreporter.stats
        stubs: dict[str, tuple[str, str]] = {}
        for report in stats.get("missing", ()):
            exercise, _, place = str(dict(report.user_properties).get(STUB, "")).partition(" ")
            stubs.setdefault(exercise, (place, report.nodeid.partition("::")[0]))
        ordered = [name for name in (*self._exercises, *stubs) if stubs.get(name, ("",))[0]]
        if not ordered or not stats.keys().isdisjoint(("failed", "error")):
            return
        place, tests = stubs[ordered[0]]
        start = "Next:" if "passed" in stats else "Nothing is written yet. Start with"
        for line in (
            "",
            f"{start} {ordered[0]} ({place}).",
            f"Write what its docstring asks for, then run `pytest {tests}`.",
        ):
            terminalreporter.write_line(line)


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
    for name, plugin in {
        "report": report,
        "folding": folding,
        "summary": summary,
        "greeting": Greeting(order),
    }.items():
        config.pluginmanager.register(plugin, f"grader-home-{name}")
