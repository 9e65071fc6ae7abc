"""Runs a command without namespaces and mounts, which a filter refuses as in a container.

python refusing.py COMMAND...
"""

from __future__ import annotations

import errno
import os
import sys

import pyseccomp

REFUSED = (
    "unshare setns mount umount2 pivot_root open_tree move_mount fsopen fsconfig fsmount fspick "
    "mount_setattr"
)
NAMESPACES = (1 << 17, 1 << 25, 1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30)  # of clone(2)


def main() -> None:
    """Installs the filter, which the command inherits."""
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in REFUSED.split():
        rules.add_rule(pyseccomp.ERRNO(errno.EPERM), name)
    for flag in NAMESPACES:
        asked = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag)
        rules.add_rule(pyseccomp.ERRNO(errno.EPERM), "clone", asked)
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    rules.load()
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
