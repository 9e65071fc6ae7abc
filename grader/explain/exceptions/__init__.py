"""Explanations of a submission's exception: its kind, its line and its meaning."""
