"""What is observed of a call beside its answer."""
