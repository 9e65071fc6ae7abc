"""Handles: the stand-ins that tests use for a submission's functions and objects."""
