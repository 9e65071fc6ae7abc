"""Which submission an explainer takes next: what it has learned helps with the like."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable

from grader.grading.task import ExplanationTask


class ExplanationQueue:
    """Questions that several explainers take, one after another; safe to use from their threads.

    An explainer goes on with submissions of which the same verdicts were reached, for as long as
    there are some; then it begins with the most of which no other one has begun. Before it has
    nothing to do it joins another one.
    """

    def __init__(self, questions: Iterable[ExplanationTask]) -> None:
        self._waiting: defaultdict[bytes, deque[ExplanationTask]] = defaultdict(deque)
        for question in questions:
            self._waiting[question.verdicts].append(question)
        self._at: dict[Hashable, bytes] = {}
        self._lock = threading.Lock()

    def take(self, explainer: Hashable) -> ExplanationTask:
        """The question that is this explainer's next.

        Raises:
            ValueError: if all are taken.
        """
        with self._lock:
            verdicts = self._next(self._at.get(explainer))
            self._at[explainer] = verdicts
            questions = self._waiting[verdicts]
            question = questions.popleft()
            if not questions:
                del self._waiting[verdicts]
            return question

    def _next(self, last: bytes | None) -> bytes:
        """The verdicts to go on with after the `last` ones."""
        if last is not None and last in self._waiting:
            return last
        begun = set(self._at.values())
        return max(self._waiting, key=lambda one: (one not in begun, len(self._waiting[one])))
