"""My solution of the attention assignment (layers.py, rope.py, attention.py)."""
