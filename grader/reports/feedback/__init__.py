"""Feedback for each person of a class, in files that course platforms take back all at once."""
