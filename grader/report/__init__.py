"""What people read of grades, derived from the grades alone."""
