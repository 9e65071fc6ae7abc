"""Repair: finds edits of a submission that make wrong answers right, and so prove a line."""
