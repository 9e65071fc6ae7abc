"""Points into an instructor's own table."""
