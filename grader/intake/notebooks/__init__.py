"""Notebooks as modules that a worker can import."""
