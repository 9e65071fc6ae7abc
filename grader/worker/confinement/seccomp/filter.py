"""System calls: a seccomp filter leaves a submission those that ordinary code needs.

A call on the list of allowed ones is made, one on the list of denied ones is refused in plain words
(PermissionError), one whose arguments decide is decided by them; any other does not exist.
Where the list of allowed calls may lack something that the machine needs, only what is denied is
refused, and `isolation` says why.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
from collections.abc import Sequence

from grader.worker.confinement.seccomp.program import (
    ALLOW,
    FilterProgram,
    Ruling,
    UnknownCall,
    compiled,
    native_architecture,
    number_of,
    refuse,
)
from grader.worker.confinement.seccomp.tables import (
    EVERYWHERE,
    NEWEST_GLIBC,
    ON_KNOWN_MACHINES,
    allowed_names,
    denied_names,
)

# The architectures that the lists were made for, as audit names them.
_MACHINES = {0xC000003E: "x86-64", 0xC00000B7: "AArch64"}
_ALLOWED = Ruling(ALLOW)
_DENIED = Ruling(refuse(errno.EPERM))
_ABSENT = Ruling(refuse(errno.ENOSYS))


def prepare_filter(granted: Sequence[str] = ()) -> None:
    """Writes the filter ahead of the fork; what an assignment has `granted` is allowed as well."""
    _filter(tuple(granted), uses_device=False)


def restrict_system_calls(granted: Sequence[str] = (), uses_device: bool = False) -> dict[str, str]:
    """Installs the filter; what it came to, for `syscalls`, `network` and `processes`."""
    nothing = dict.fromkeys(("syscalls", "network", "processes"), "none")
    program, reached = _filter(tuple(granted), uses_device=uses_device)
    if program is None:
        return nothing
    try:
        program.load(os.getpid())
    except OSError:
        return nothing
    return {"syscalls": reached, "network": "denied", "processes": "denied"}


def listing(architecture: int, granted: Sequence[str] = ()) -> FilterProgram:
    """Returns the filter that lists what is allowed.

    Raises:
        UnknownCall: if libseccomp lacks the number of a call.
    """
    decisions = dict.fromkeys(allowed_names() | {*granted}, _ALLOWED)
    decisions |= {**ON_KNOWN_MACHINES, **EVERYWHERE} | dict.fromkeys(denied_names(), _DENIED)
    return compiled(architecture, _numbered(decisions, architecture), _ABSENT)


def by_what_is_denied(architecture: int) -> FilterProgram:
    """Returns the filter that refuses what is denied, and allows all else."""
    decisions = {**EVERYWHERE} | dict.fromkeys(denied_names(), _DENIED)
    return compiled(architecture, _numbered(decisions, architecture, lenient=True), _ALLOWED)


@functools.cache
def _filter(granted: tuple[str, ...], *, uses_device: bool) -> tuple[FilterProgram | None, str]:
    """Returns the filter of a worker, and what it comes to; none without libseccomp."""
    architecture = native_architecture()
    if architecture is None:
        return None, "none"
    lacking = why_not_listed(architecture, _c_library(), uses_device)
    with contextlib.suppress(UnknownCall):
        if lacking is None:
            lacking = "libseccomp is too old"
            return listing(architecture, granted), "seccomp"
    return by_what_is_denied(architecture), f"seccomp, by what is denied ({lacking})"


def why_not_listed(architecture: int, libc: str, uses_device: bool) -> str | None:
    """Returns why the list of allowed calls may lack something; None where it does not."""
    if uses_device:
        return "the driver of a device has calls of its own"
    if architecture not in _MACHINES:
        return f"the list is made for {' and '.join(_MACHINES.values())}"
    name, _, version = libc.partition(" ")
    if name == "glibc" and tuple(map(int, version.split("."))) > NEWEST_GLIBC:
        return f"the list is made for glibc up to {'.'.join(map(str, NEWEST_GLIBC))}"
    return None


def _c_library() -> str:
    """As "glibc 2.36"; musl does not say."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return ""


def _numbered(
    decisions: dict[str, Ruling], architecture: int, lenient: bool = False
) -> dict[int, Ruling]:
    """The decisions by number, where the architecture has the call; known ones only, if lenient."""
    numbered = {}
    for name, decision in decisions.items():
        with contextlib.suppress(UnknownCall) if lenient else contextlib.nullcontext():
            number = number_of(name, architecture)
            if number is not None:
                numbered[number] = decision
    return numbered
