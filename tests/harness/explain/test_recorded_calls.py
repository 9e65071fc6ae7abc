"""Recorded calls: the explainer repeats one call of each wrong exercise to see its steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.core.assignment import find_assignment
from grader.core.wire.calls import Answer, Call
from grader.explain.deadline import NEVER
from grader.explain.explainer.explainer import Explainer
from grader.explain.explainer.rerun import LostTests
from grader.explain.explainer.workshop import RepairWorkshop
from grader.explain.mistakes.mistakes import load_mistakes
from grader.explain.rewriting.slips import NO_SLIPS
from grader.grading.judge.judge import Judge
from grader.sandbox.session import Session, SessionLimits
from grader.testing.suite import Suite
from tests.harness.conftest import write_files
from tests.harness.explain.test_lines import ATTEND, ROOT, SDPA, submission_files
from tests.harness.prepared_submissions import prepared

pytestmark = pytest.mark.process


class CountedCalls:
    """A session's calls, with a list of those that were recorded."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.recorded: list[str] = []

    def ask(self, call: Call) -> Answer:
        """Returns the submission's answer."""
        if call.record:
            self.recorded.append(call.adapter)
        return self._session.ask(call)


def recorded_calls(folder: Path, adapters: str) -> list[str]:
    """Returns the exercises whose calls the explainer of attention repeats."""
    write_files(folder, submission_files(adapters))
    recorded: list[str] = []

    def grade(suite: Suite) -> None:
        limits = SessionLimits(100, 10, 10, 1 << 30)
        with prepared(suite.assignment, folder, limits) as one:
            counted = CountedCalls(one)
            statuses = {one.id: one.status for one in Judge(suite, 0).grade(counted.ask, [SDPA])}
            explainer = Explainer(suite, load_mistakes(ROOT, suite.references))
            workshop = RepairWorkshop(one, one.submission, NO_SLIPS)
            losses = LostTests(one, one.submission.root)
            assert [*explainer.explain(counted.ask, statuses, NEVER, {}, workshop, losses)]
            recorded.extend(counted.recorded)

    Suite(find_assignment(ROOT)).open(grade)
    return recorded


def test_a_right_submission_costs_no_repeated_call(tmp_path):
    """A right submission costs no repeated call, and a wrong exercise costs one."""
    unscaled = ATTEND.replace(" / math.sqrt(q.shape[-1])", "")
    assert recorded_calls(tmp_path / "right", ATTEND) == []
    assert recorded_calls(tmp_path / "wrong", unscaled) == [SDPA]
