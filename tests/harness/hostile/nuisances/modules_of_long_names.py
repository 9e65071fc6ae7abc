"""Says that it imported thousands of modules, whose names take megabytes."""

import sys
import types

NAME = "x" * (1 << 16)
for number in range(2000):
    sys.modules[f"m{number}{NAME}"] = types.ModuleType(f"m{number}{NAME}")


def run_double(x):
    return 2 * x


def run_count(x):
    return x.numel()
