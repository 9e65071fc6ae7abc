"""The results of a batch, and what instructors decide about them."""
