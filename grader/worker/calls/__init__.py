"""A call in the worker: its arguments, its steps, its answer."""
