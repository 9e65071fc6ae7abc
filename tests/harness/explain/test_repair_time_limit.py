"""A search with too little time for all edits: it leaves out the least likely ones."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from grader.core.verdict import Aspect
from grader.core.wire.calls import Call
from grader.core.wire.trials import MAX_EDITS, Outcomes, TextChange, Trials
from grader.explain.repair.questions import CheckedCall
from grader.explain.repair.search import Search, SearchBounds
from grader.explain.repair.sources import EditableSources
from grader.testing.outcome import Question
from grader.worker.trials.trials import Trying
from tests.harness.undoing import ATTENTION, with_combinations

pytestmark = pytest.mark.unit

NAME = "program_of_many_edits"
# Enough lines for more edits than one batch of trials holds.
PROGRAM = "def run_sum(x):\n" + "".join(
    f"    part_{number} = x * {number + 2} + {number}\n    x = part_{number} - x / 3\n"
    for number in range(20)
)
PROGRAM += "    return x\n"
CALL = Call("run_sum", {"x": torch.ones(2)})


class Unanswerable:
    """A catalogue without right answers, for which no edit succeeds."""

    def right(self, _observation: object) -> None:
        """Returns None."""


class Bench:
    """A bench whose clock advances by a hundredth of a second with every reading."""

    def __init__(self, function, root: Path) -> None:
        self.seconds = 0.0
        self.tried: list[object] = []
        self._trying = Trying({"run_sum": function}, root, clock=self._look)

    def _look(self) -> float:
        self.seconds += 0.01
        return self.seconds

    def try_edits(self, trials: Trials) -> Outcomes:
        """Returns the outcomes of trials."""
        outcomes = self._trying.perform(trials)
        self.tried += trials.edits[: outcomes.tried]
        return outcomes


@pytest.fixture(name="function")
def _function(tmp_path, monkeypatch):
    (tmp_path / f"{NAME}.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield importlib.import_module(NAME).run_sum
    del sys.modules[NAME]


@pytest.mark.process(takes="a second")
def test_likely_edits_are_tried_in_order_until_time_runs_out(function, tmp_path):
    """Edits are tried in order, however batched; unlikely ones get only the remaining time."""
    benches: list[Bench] = []

    @contextmanager
    def new_bench() -> Iterator[Bench]:
        benches.append(Bench(function, tmp_path))
        yield benches[-1]

    question = Question("test", 0, Aspect.VALUES, CALL)
    asked = [CheckedCall("run_sum", question, right=False)]
    search = Search(Unanswerable(), new_bench, "run_sum", asked, bounds=SearchBounds(seconds=9.0))
    sources = EditableSources.below(tmp_path, ATTENTION)
    assert search.chosen(sources, lambda found: found or None, likely_only=False) is None
    in_order = [
        {f"{NAME}.py": [TextChange(one.start, one.end, one.text) for one in edit.replacements]}
        for edit in with_combinations(PROGRAM)
    ]
    first, second = benches
    assert MAX_EDITS < len(first.tried) < len(in_order)
    assert first.tried == in_order[: len(first.tried)]
    assert second.tried == []
    assert search.left_out == len(in_order) - len(first.tried)
