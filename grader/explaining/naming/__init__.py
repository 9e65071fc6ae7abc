"""Which known mistake an answer shows."""
