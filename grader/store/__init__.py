"""`results.sqlite`: the truth of a batch, written as each grade arrives."""

from grader.store.database import SCHEMA_VERSION, ForeignStore, StoreError
from grader.store.lock import StoreInUse
from grader.store.results import Outline, Results
from grader.store.store import Store

__all__ = [
    "SCHEMA_VERSION",
    "ForeignStore",
    "Outline",
    "Results",
    "Store",
    "StoreError",
    "StoreInUse",
]
