"""Intake: finds submissions, copies them privately, and runs nothing of them."""
