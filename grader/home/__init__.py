"""Pytest on a student's machine: the same tests, direct calls, frozen fixture tensors."""
