"""Grades student PyTorch implementations against hidden references.

    import grader

    grade = grader.grade("submissions/alice")
    print(grade.score, grade.max_score)

    results = grader.batch("submissions", "results", jobs=8)
    for grade in results.grades():
        print(grade.submission, grade.score)

Names are imported on first use, because workers also load this module and must stay small.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.cli.api import batch, grade, settle
    from grader.core.assignment import BadAssignment
    from grader.core.verdict import Aspect, Grade, GradeStatus, Status, Verdict, Visibility
    from grader.grading.cluster.connection import NoCluster
    from grader.grading.options import NotIsolated
    from grader.intake.entry import NothingToGrade
    from grader.intake.people import BadRoster
    from grader.results.database import StoreError
    from grader.results.decisions.decision import BadDecisions
    from grader.results.decisions.settlement import Settlement
    from grader.results.results import Results

__version__ = "0.1.0"
__all__ = [
    "Aspect",
    "BadAssignment",
    "BadDecisions",
    "BadRoster",
    "Grade",
    "GradeStatus",
    "NoCluster",
    "NotIsolated",
    "NothingToGrade",
    "Results",
    "Settlement",
    "Status",
    "StoreError",
    "Verdict",
    "Visibility",
    "__version__",
    "batch",
    "grade",
    "settle",
]
_HOMES = {
    "Aspect": "core.verdict",
    "BadAssignment": "core.assignment",
    "BadDecisions": "results.decisions.decision",
    "BadRoster": "intake.people",
    "Grade": "core.verdict",
    "GradeStatus": "core.verdict",
    "NoCluster": "grading.cluster.connection",
    "NotIsolated": "grading.options",
    "NothingToGrade": "intake.entry",
    "Results": "results.results",
    "Settlement": "results.decisions.settlement",
    "Status": "core.verdict",
    "StoreError": "results.database",
    "Verdict": "core.verdict",
    "Visibility": "core.verdict",
    "batch": "cli.api",
    "grade": "cli.api",
    "settle": "cli.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
