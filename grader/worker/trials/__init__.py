"""Tries edits of a submission's functions in the process that loaded them."""
