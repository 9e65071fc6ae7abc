"""Your work: fill in the functions of `warmup`, `attention` and `positions`, in that order.

The adapters in `adapters.py` hand over to them. Add modules, classes and functions as you like.
"""
