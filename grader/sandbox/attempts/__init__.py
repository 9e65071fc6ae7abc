"""A submission that tries to get out; each `run_` function returns True if it succeeds.

The probe copies this folder into a worker, which imports a module of it like any submission.
"""
