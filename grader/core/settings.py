"""The settings that a judge reads before its first submission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

CPU = "cpu"
# While a machine has no processor to spare, a submission may take so many times its seconds.
WALL_FACTOR = 5
# The same of an explanation: somebody waits for its words.
EXPLAINING_WALL_FACTOR = 3


@dataclass(frozen=True, slots=True)
class Settings:
    """The values, beside the submissions, on which the grades of a batch depend.

    `assignment` is the assignment's folder; `exercises` those that are graded (none: all of them);
    `adapters` where in a submission they lie; `timeout` the seconds and `memory_mb` the memory that
    one submission may take, seconds in which the machine keeps it waiting not counted;
    `explain_seconds` what explaining it may take; `device` where its functions are called, as torch
    names it; `reuses_seed` whether more submissions may be asked with this seed once students have
    read what explains their grades; `suite_hash` stands for the tests, the references and the
    grader, `test_hashes` for as much of them as each test depends on.
    """

    assignment: str
    seed: int
    exercises: tuple[str, ...]
    adapters: str
    timeout: float
    memory_mb: int
    suite_hash: str
    test_hashes: Mapping[str, str] = field(default_factory=dict)
    device: str = CPU
    explain_seconds: float = 20.0
    reuses_seed: bool = False

    def as_json(self) -> dict[str, Any]:
        """Returns the settings as the first line that a judge reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Settings:
        """Returns the settings that `as_json` wrote."""
        return cls(**row | {"exercises": tuple(row["exercises"])})
