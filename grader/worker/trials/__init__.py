"""Tries edits of a submission's functions in the process in which these were loaded."""
