"""Handles: what a test calls and uses in place of a submission's functions and objects."""
