"""Refuses to grade where a layer of isolation is missing."""

from __future__ import annotations

from grader.core.refusal import Refusal


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
