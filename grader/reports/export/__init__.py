"""What course platforms and other programs read of grades, derived from the store alone."""
