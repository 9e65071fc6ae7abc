"""With pytest-xdist tests run in several processes: what is said crosses with their reports."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from grader.home.failure import Failure

_FAILURE = "grader_failure"


class SeveralProcesses:
    """Hands over what is said of a failure: pytest itself would keep its text only."""

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(
        self, report: pytest.TestReport | pytest.CollectReport
    ) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
        """Adds it."""
        data = yield
        if data is not None and isinstance(report.longrepr, Failure):
            data[_FAILURE] = report.longrepr.as_json()
        return data

    @pytest.hookimpl(wrapper=True)
    def pytest_report_from_serializable(
        self, data: dict[str, Any]
    ) -> Generator[
        None,
        pytest.TestReport | pytest.CollectReport | None,
        pytest.TestReport | pytest.CollectReport | None,
    ]:
        """Puts it back."""
        failure = data.pop(_FAILURE, None)
        report = yield
        if isinstance(report, pytest.TestReport) and failure is not None:
            report.longrepr = Failure.from_json(failure)
        return report


def is_one_of_several(config: pytest.Config) -> bool:
    """Whether this process runs some of the tests, and tells another one."""
    return hasattr(config, "workerinput")
