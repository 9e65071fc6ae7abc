"""Explains a submission's exception to its author: its kind, its line and its meaning."""
