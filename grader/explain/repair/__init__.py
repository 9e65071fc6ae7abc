"""Finds the edits of a submission that make its wrong answers right: they prove the line."""
