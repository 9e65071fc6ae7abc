"""What people and course platforms read of grades."""
