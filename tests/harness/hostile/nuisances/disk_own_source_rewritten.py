"""Rewrites, removes and locks its own files while it runs."""

import os
from pathlib import Path

HERE = Path(__file__).parent


def run_double(x):
    for change in (
        lambda: Path(__file__).write_text("def run_double(x):\n    return 2 * x\n"),
        lambda: (HERE / "new").symlink_to("/"),
        lambda: os.rename(HERE, HERE.with_name("elsewhere")),
        lambda: os.chmod(HERE, 0),
    ):
        try:
            change()
        except OSError:
            continue
    os._exit(1)


def run_count(x):
    return x.numel()
