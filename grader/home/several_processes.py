"""With pytest-xdist tests run in several processes: what is seen there goes to the one that tells.

What it takes travels with the reports, and at the end of each process all that was answered in it.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Generator
from typing import Any

import pytest
import torch
from _pytest._code.code import ReprFileLocation

from grader.home.bench import Home
from grader.home.failure import Failure
from grader.testing.observation import Observation, Question
from grader.verdict import Aspect
from grader.wire.calls import Answer, Call, decode_answer, decode_call, encode_answer, encode_call
from grader.wire.frames import Received, receive

_FAILURE, _SEEN = "grader_failure", "grader_seen"
# An exercise, a test, the number of a call in it, its aspect, the call; the answer, if it was
# refused.
_Row = tuple[str, str, int, str, bytes, bytes | None, bool]


class SeveralProcesses:
    """Hands over what a process of pytest-xdist has seen; does nothing where there is but one."""

    def __init__(self, home: Home) -> None:
        self._home = home

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(
        self, report: pytest.TestReport | pytest.CollectReport
    ) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
        """Adds what is said of a failure: pytest itself would keep its text only."""
        data = yield
        if data is not None and isinstance(report.longrepr, Failure):
            data[_FAILURE] = dataclasses.asdict(report.longrepr) | {
                "reprcrash": dataclasses.astuple(report.longrepr.reprcrash)
            }
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
            crash = ReprFileLocation(*failure.pop("reprcrash"))
            report.longrepr = Failure(reprcrash=crash, **failure)
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hands over all that was seen in this process."""
        if is_one_of_several(session.config):
            session.config.workeroutput[_SEEN] = self._rows()  # type: ignore[attr-defined]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Takes over what was seen in another process."""
        for row in getattr(node, "workeroutput", {}).get(_SEEN, ()):
            self._take(row)
        for seen in self._observations.values():
            seen.sort(key=lambda one: (one.test, one.number))

    @property
    def _observations(self) -> dict[str, list[Observation]]:
        return self._home.bench.observations or {}

    def _rows(self) -> list[_Row]:
        answered: list[_Row] = [
            (*_asked(exercise, one), encode_answer(Answer(one.value)), one.refused)
            for exercise, seen in self._observations.items()
            for one in seen
        ]
        unanswered: list[_Row] = [
            (*_asked(exercise, one), None, False)
            for exercise, questions in self._home.unanswered.items()
            for one in questions
        ]
        return answered + unanswered

    def _take(self, row: _Row) -> None:
        exercise, test, number, aspect, frame, answer, refused = row
        call = decode_call(_received(frame))
        if answer is None:
            question = Question(test, number, Aspect(aspect), call)
            self._home.unanswered.setdefault(exercise, []).append(question)
            return
        value = decode_answer(_received(answer)).value
        if isinstance(value, torch.Tensor) and self._home.bench.observations is not None:
            seen = Observation(test, number, Aspect(aspect), call, value, refused)
            self._home.bench.observations.setdefault(exercise, []).append(seen)


def is_one_of_several(config: pytest.Config) -> bool:
    """Whether this process runs some of the tests, and tells another one."""
    return hasattr(config, "workerinput")


def _asked(exercise: str, one: Observation | Question) -> tuple[str, str, int, str, bytes]:
    call: Call = one.call
    return exercise, one.test, one.number, str(one.aspect), encode_call(call)


def _received(frame: bytes) -> Received:
    sent = io.BytesIO(frame)
    return receive(lambda size: bytearray(sent.read(size)))
