"""Raises what a user's Ctrl-C does while it is imported."""

raise KeyboardInterrupt
