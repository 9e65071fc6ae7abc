"""A seccomp program: the instructions and numbers by which the kernel decides.

The kernel passes an argument as two words of 32 bits. The program reads only the lower word, as the
kernel itself does with descriptors, flags, commands and process ids: higher bits change nothing.
(libseccomp compares all 64 bits, and cannot express "everything but these".)
"""

from __future__ import annotations

import ctypes
import itertools
import struct
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

# Loaded before the fork: it runs other programs to find libseccomp.
try:
    import pyseccomp
except (ImportError, RuntimeError, OSError):  # another system than Linux, or no libseccomp
    pyseccomp = None

_UNKNOWN = -1
# Names that an older libseccomp does not know, by the number of the first in a row. The numbers are
# the same on every architecture.
_ROWS = {
    424: (
        "pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount "
        "fsopen fsconfig fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd "
        "faccessat2 process_madvise epoll_pwait2 mount_setattr quotactl_fd"
    ),
    447: "memfd_secret process_mrelease futex_waitv",
    452: "fchmodat2 map_shadow_stack futex_wake futex_wait futex_requeue",
    462: (
        "mseal setxattrat getxattrat listxattrat removexattrat open_tree_attr file_getattr "
        "file_setattr"
    ),
}
_NEWER = {
    name: number
    for first, names in _ROWS.items()
    for number, name in enumerate(names.split(), first)
}


class UnknownCall(Exception):
    """libseccomp knows no system call of this name."""


def native_architecture() -> int | None:
    """Returns the architecture of this machine, as audit names it; None without libseccomp."""
    return None if pyseccomp is None else int(pyseccomp.system_arch())


def number_of(name: str, architecture: int) -> int | None:
    """Returns the number of a system call; None where the architecture has no such call.

    Raises:
        UnknownCall: if no known architecture has the call.
    """
    number = int(pyseccomp.resolve_syscall(architecture, name))
    if number == _UNKNOWN:
        if name not in _NEWER:
            raise UnknownCall(name)
        return _NEWER[name]
    return number if number >= 0 else None


# Actions (linux/seccomp.h).
ALLOW = 0x7FFF0000
KILL = 0x80000000
_ERRNO = 0x00050000
# Instructions (linux/bpf_common.h): load a word, and, jump always, if equal, if not less, return.
_LOAD, _AND, _JUMP, _IF_EQUAL, _IF_NOT_LESS, _RETURN = 0x20, 0x54, 0x05, 0x15, 0x35, 0x06
_INSTRUCTION = struct.Struct("=HBBI")
_LONGEST_JUMP = 255
# Offsets in `struct seccomp_data`: the call's number, the architecture, an argument's lower word.
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16 if sys.byteorder == "little" else 20
# Calls of x86's x32 ABI have this bit; no architecture uses numbers as high.
_FOREIGN = 0x40000000
WORD = 0xFFFFFFFF
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2

OWN_PROCESS = -1
"""Stands, among the values of a check, for the id of the process that the program is loaded in."""


def refuse(error: int) -> int:
    """Returns the action that fails a call with this `errno`; 0 feigns success."""
    return _ERRNO | error


@dataclass(frozen=True, slots=True)
class Check:
    """An action for calls one of whose arguments, under a mask, is (or is not) among values."""

    argument: int
    values: tuple[int, ...]
    action: int
    mask: int = WORD
    among: bool = True


@dataclass(frozen=True, slots=True)
class Ruling:
    """The ruling on a system call: the action of the first check that holds, or `otherwise`."""

    otherwise: int
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class FilterProgram:
    """Instructions, and the positions of those that compare with the id of the process."""

    instructions: bytes
    own: tuple[int, ...]

    def load(self, pid: int) -> None:
        """Confines this process and its later threads for good.

        Raises:
            OSError: if the kernel does not accept the program.
        """
        code = bytearray(self.instructions)
        for position in self.own:
            struct.pack_into("=I", code, (position + 1) * _INSTRUCTION.size - 4, pid)
        libc = ctypes.CDLL(None, use_errno=True)
        held = ctypes.create_string_buffer(bytes(code), len(code))
        program = _SockFprog(len(code) // _INSTRUCTION.size, ctypes.addressof(held))
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "the kernel takes no filter of system calls")


class _SockFprog(ctypes.Structure):
    """`struct sock_fprog` (seccomp(2))."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def compiled(architecture: int, calls: Mapping[int, Ruling], default: Ruling) -> FilterProgram:
    """Returns the program for an architecture (as audit names it), which decides by call number.

    A call of any other architecture kills the process.
    """
    code = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, KILL),
        (_LOAD, 0, 0, _NUMBER),
        *_search(_ranges(calls, default)),
    ]
    own = tuple(place for place, (*_, value) in enumerate(code) if value == OWN_PROCESS)
    instructions = b"".join(
        _INSTRUCTION.pack(*jumps, 0 if value == OWN_PROCESS else value) for *jumps, value in code
    )
    return FilterProgram(instructions, own)


_Code = list[tuple[int, int, int, int]]


def _ranges(calls: Mapping[int, Ruling], default: Ruling) -> list[tuple[int, Ruling]]:
    """Returns ranges of numbers with one ruling each: the first number, and the ruling."""
    return [
        next(alike) for _, alike in itertools.groupby(_starts(calls, default), lambda it: it[1])
    ]


def _starts(calls: Mapping[int, Ruling], default: Ruling) -> Iterator[tuple[int, Ruling]]:
    following = 0
    for number in sorted(calls):
        if number > following:
            yield following, default
        yield number, calls[number]
        following = number + 1
    yield following, default
    yield _FOREIGN, Ruling(KILL)


def _search(ranges: list[tuple[int, Ruling]]) -> _Code:
    """Returns the instructions that find the range of a number by binary search."""
    if len(ranges) == 1:
        return _rule(ranges[0][1])
    middle = len(ranges) // 2
    lower, upper = _search(ranges[:middle]), _search(ranges[middle:])
    least = ranges[middle][0]
    if len(lower) <= _LONGEST_JUMP:
        return [(_IF_NOT_LESS, len(lower), 0, least), *lower, *upper]
    return [(_IF_NOT_LESS, 0, 1, least), (_JUMP, 0, 0, len(lower)), *lower, *upper]


def _rule(ruling: Ruling) -> _Code:
    code: _Code = []
    for check in ruling.checks:
        code.append((_LOAD, 0, 0, _ARGUMENTS + 8 * check.argument))
        if check.mask != WORD:
            code.append((_AND, 0, 0, check.mask))
        for left in range(len(check.values) - 1, -1, -1):
            hit, miss = (left, int(left == 0)) if check.among else (left + 1, 0)
            code.append((_IF_EQUAL, hit, miss, check.values[-1 - left]))
        code.append((_RETURN, 0, 0, check.action))
    return [*code, (_RETURN, 0, 0, ruling.otherwise)]
