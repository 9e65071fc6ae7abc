"""Decisions of instructors after grading, and the final points of a submission."""
