"""The people of a course, and whose submissions these are."""
