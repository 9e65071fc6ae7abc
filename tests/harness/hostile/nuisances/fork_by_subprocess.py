"""Starts programs that stay."""

import subprocess


def run_double(x):
    for _ in range(20):
        subprocess.Popen(["/bin/sleep", "20"], start_new_session=True)
    return None


def run_count(x):
    return x.numel()
