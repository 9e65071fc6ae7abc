"""Which system calls an assignment may grant to its submissions, by name."""

from __future__ import annotations

from grader.worker.confinement.seccomp.program import UnknownCall, native_architecture, number_of
from grader.worker.confinement.seccomp.tables import DENIED, EVERYWHERE, ON_KNOWN_MACHINES


def why_not_granted(name: str) -> str | None:
    """Returns why a system call cannot be granted; None if it can."""
    for reached, names in DENIED.items():
        if name in names.split():
            return f"{name} is never granted: it is refused for what it reaches ({reached})"
    if name in EVERYWHERE or name in ON_KNOWN_MACHINES:
        return f"{name} is never granted: its arguments decide what of it is allowed"
    architecture = native_architecture()
    if architecture is not None:
        try:
            number_of(name, architecture)
        except UnknownCall:
            return f"libseccomp knows no system call {name!r}"
    return None
