"""What each course platform reads."""
