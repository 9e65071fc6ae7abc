"""The machine and the versions behind the figures."""

from __future__ import annotations

import os
import platform

import torch


def description() -> str:
    """Returns the machine and the versions, in two lines."""
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()} {platform.release()}\n"
        f"Python {platform.python_version()}, torch {torch.__version__}"
    )
