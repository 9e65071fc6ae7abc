"""Raises two hundred megabytes of text while it is imported."""

raise ValueError("x" * (200 << 20))
