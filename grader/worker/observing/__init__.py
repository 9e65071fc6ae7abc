"""Observations of a call beside its answer."""
