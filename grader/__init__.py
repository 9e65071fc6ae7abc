"""Grades student PyTorch implementations against hidden references.

    import grader

    grade = grader.grade("submissions/alice")
    print(grade.score, grade.max_score)

    results = grader.batch("submissions", "results", jobs=8)
    for grade in results.grades():
        print(grade.submission, grade.score)

Nothing is imported before it is used: a worker, which must hold little, loads this module too.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.api import batch, grade, settle
    from grader.assignment import BadAssignment
    from grader.decisions.decision import BadDecisions
    from grader.decisions.settlement import Settlement
    from grader.dispatch.cluster.connection import NoCluster
    from grader.dispatch.isolation import NotIsolated
    from grader.intake import BadRoster, NothingToGrade
    from grader.store import Results, StoreError
    from grader.verdict import Aspect, Grade, GradeStatus, Status, Verdict, Visibility

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
    "Aspect": "verdict",
    "BadAssignment": "assignment",
    "BadDecisions": "decisions.decision",
    "BadRoster": "intake",
    "Grade": "verdict",
    "GradeStatus": "verdict",
    "NoCluster": "dispatch.cluster.connection",
    "NotIsolated": "dispatch.isolation",
    "NothingToGrade": "intake",
    "Results": "store",
    "Settlement": "decisions.settlement",
    "Status": "verdict",
    "StoreError": "store",
    "Verdict": "verdict",
    "Visibility": "verdict",
    "batch": "api",
    "grade": "api",
    "settle": "api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
