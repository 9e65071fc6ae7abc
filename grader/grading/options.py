"""The options of a batch, the settings that follow, and the isolation that it demands."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from grader.core.assignment import Assignment, BadAssignment, meant
from grader.core.refusal import Refusal
from grader.core.settings import CPU, Settings
from grader.grading.fingerprints import hashes_by_test, suite_hash


class NotIsolated(Refusal):
    """This machine does not grant every layer of isolation; the text says which."""


def require_isolation() -> None:
    """Tries every layer of isolation on this machine.

    Raises:
        NotIsolated: if one does not hold.
    """
    from grader.sandbox.probing.probe import examine_confinement

    examination = examine_confinement()
    missing = [layer for layer, reached in examination.isolation.items() if reached == "none"]
    missing += [attempt.what for attempt in examination.attempts if not attempt.ok]
    if missing:
        raise NotIsolated(
            f"isolation is required and does not hold here ({', '.join(missing)}): "
            "see `grader doctor`, or grade without --require-isolation"
        )


SEEDS = 1 << 31


@dataclass(frozen=True, slots=True)
class Options:
    """The options that a grade depends on, beside the submission and the assignment.

    The fields are those of `Settings`. If `seed` is None, a seed is drawn.
    """

    seed: int | None = None
    exercises: tuple[str, ...] = ()
    adapters: str = "adapters.py"
    timeout: float = 120.0
    memory_mb: int = 2048
    device: str = CPU
    explain_seconds: float = 20.0

    def settings(self, assignment: Assignment) -> Settings:
        """Returns the settings for the judges of an assignment.

        Raises:
            BadAssignment: if an exercise is not one of the assignment's.
        """
        for exercise in self.exercises:
            if exercise not in assignment.points:
                raise BadAssignment(
                    f"{exercise} is not an exercise of {assignment.name}: "
                    f"{meant(exercise, assignment.points)}"
                )
        exercises = tuple(sorted(set(self.exercises)))
        hashes = hashes_by_test(assignment, exercises)
        return Settings(
            assignment=str(assignment.root),
            seed=secrets.randbelow(SEEDS) if self.seed is None else self.seed,
            reuses_seed=self.seed is not None,
            exercises=exercises,
            adapters=self.adapters,
            timeout=self.timeout,
            memory_mb=self.memory_mb,
            device=self.device,
            explain_seconds=self.explain_seconds,
            suite_hash=suite_hash(assignment, hashes, exercises),
            test_hashes=hashes,
        )

    def as_json(self) -> dict[str, Any]:
        """Returns the options as they are kept with the grades."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Options:
        """Returns the options that `as_json` wrote."""
        return cls(**{**row, "exercises": tuple(row["exercises"])})


def chosen_otherwise(now: Options, earlier: Options) -> list[str]:
    """In words, what is chosen otherwise than earlier; no seed stands for the earlier one."""
    compared = {
        "seed": (earlier.seed, earlier.seed if now.seed is None else now.seed),
        "exercises": (_listed(earlier.exercises), _listed(now.exercises)),
        "adapters": (earlier.adapters, now.adapters),
        "timeout": (f"{earlier.timeout:g}", f"{now.timeout:g}"),
        "memory": (earlier.memory_mb, now.memory_mb),
        "device": (earlier.device, now.device),
    }
    return [f"{name}: {then}, now {new}" for name, (then, new) in compared.items() if then != new]


def _listed(exercises: tuple[str, ...]) -> str:
    return " and ".join(sorted(set(exercises))) or "all"
