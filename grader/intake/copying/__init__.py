"""The private copy of a submission: what of it is copied, and how."""
