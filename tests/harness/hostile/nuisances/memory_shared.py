"""Fills shared memory that no limit of private memory counts."""

import mmap

kept = []


def run_double(x):
    for _ in range(15):
        memory = mmap.mmap(-1, 100 << 20, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
        for offset in range(0, 100 << 20, 4096):
            memory[offset] = 1
        kept.append(memory)
    return None


def run_count(x):
    return x.numel()
