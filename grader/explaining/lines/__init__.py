"""Which line of a submission goes astray."""
