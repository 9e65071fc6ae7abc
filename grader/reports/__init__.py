"""The reports on grades, for people and for course platforms."""
