"""Grading on many machines: submissions travel to the workers of a Dask cluster, grades come back.

A *Dask worker* is a trusted process on another machine, known by its address. The part of a batch
that it holds is a *remote worker*, whose judges start untrusted workers as they do on one machine.
"""
