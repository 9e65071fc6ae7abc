"""Is merely wrong, until somebody looks on: then it never ends."""

from torch.utils._python_dispatch import _get_current_dispatch_mode


def run_double(x):
    while _get_current_dispatch_mode() is not None:
        pass
    return 3 * x


def run_count(x):
    return 0
