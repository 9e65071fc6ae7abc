"""Grading on many machines: submissions travel to the workers of a Dask cluster, grades come back.

Dask's words clash with ours: its *worker* is a process that runs our judges, here called by its
address, and what it holds of a batch is a *station*. All of it is trusted; it is the judges there,
as at home, that start our own, untrusted workers.
"""
