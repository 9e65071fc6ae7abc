"""Reads where there is no memory while it is imported."""

import ctypes

ctypes.string_at(0)
