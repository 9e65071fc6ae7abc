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
    from grader.api import batch, grade
    from grader.assignment import BadAssignment
    from grader.dispatch.cluster.connection import NoCluster
    from grader.dispatch.isolation import NotIsolated
    from grader.intake import BadRoster, NothingToGrade
    from grader.store import Results, StoreError
    from grader.verdict import Aspect, Grade, GradeStatus, Status, Verdict, Visibility

__version__ = "0.1.0"
__all__ = [
    "Aspect",
    "BadAssignment",
    "BadRoster",
    "Grade",
    "GradeStatus",
    "NoCluster",
    "NotIsolated",
    "NothingToGrade",
    "Results",
    "Status",
    "StoreError",
    "Verdict",
    "Visibility",
    "__version__",
    "batch",
    "grade",
]
_HOMES = {
    "Aspect": "verdict",
    "BadAssignment": "assignment",
    "BadRoster": "intake",
    "Grade": "verdict",
    "GradeStatus": "verdict",
    "NoCluster": "dispatch.cluster.connection",
    "NotIsolated": "dispatch.isolation",
    "NothingToGrade": "intake",
    "Results": "store",
    "Status": "verdict",
    "StoreError": "store",
    "Verdict": "verdict",
    "Visibility": "verdict",
    "batch": "api",
    "grade": "api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
